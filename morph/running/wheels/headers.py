"""The headers of torch and of Python that the libraries of a wheel are compiled with."""

from __future__ import annotations

import ast
import dataclasses
import json
import pathlib
import re
import subprocess
import tempfile
import zipfile
from typing import Any

from morph.base import interpreter
from morph.base.errors import MorphError

IDENTITY, VERSION = "identity.json", ("__version__", "git_version")
INTERNALS = re.compile(rb"__pybind11_internals_v\d+(_gcc_libstdcpp_cxxabi\d+)")


class HeadersError(MorphError):
    """Headers that cannot be had: no such wheel on the index, or no such Python on this machine."""


@dataclasses.dataclass(frozen=True)
class Torch:
    """The headers of one release of torch.

    Attributes:
        version: As ``torch.__version__`` has it, ``"2.9.1+cu128"``.
        revision: The commit that it was built from.
        pybind11_abi: As ``Target.pybind11_abi``.
        include: The folder ``torch/include``.
    """

    version: str
    revision: str
    pybind11_abi: str
    include: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Python:
    """One Python of this machine.

    Attributes:
        version: ``"3.11"``.
        include: The folder of ``Python.h``.
    """

    version: str
    include: pathlib.Path

    @property
    def tag(self) -> str:
        """The tag of its wheels, ``"cp311"``."""
        return "cp" + self.version.replace(".", "")

    def suffix(self, machine: str) -> str:
        """Return the extension of its extension modules on ``machine`` (``"aarch64"``)."""
        return f".cpython-{self.tag[2:]}-{machine}-linux-gnu.so"


def of_python(executable: str) -> Python:
    """Return the headers of a Python.

    Args:
        executable: Its path, or a name on PATH.

    Raises:
        HeadersError: If it cannot be started, or has no headers.
    """
    query = "import sysconfig as s; print(s.get_python_version(), s.get_path('include'))"
    try:
        done = subprocess.run([executable, "-I", "-c", query], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise HeadersError(f"{executable} is no Python that starts: {error}") from None
    version, folder = done.stdout.split(maxsplit=1)
    python = Python(version, pathlib.Path(folder.strip()))
    if not (python.include / "Python.h").is_file():
        raise HeadersError(f"{executable} has no headers in {python.include} (install python{version}-dev)")
    return python


def of_torch(release: str, machine: str, python: str, folder: pathlib.Path) -> Torch:
    """Return the headers of a release of torch, taken from its wheel on pip's index.

    Args:
        release: ``"2.9.1"``.
        machine: ``"x86_64"`` or ``"aarch64"``.
        python: A Python that torch has a wheel for, ``"3.11"``; the headers are the same for each.
        folder: Keeps the headers for the next time.

    Raises:
        HeadersError: If the index has no such wheel.
    """
    place = folder / f"torch-{release}-{machine}"
    if not (place / IDENTITY).is_file():
        with tempfile.TemporaryDirectory(dir=folder) as downloads:
            _unpack(_download(release, machine, python, pathlib.Path(downloads)), place)
    known: dict[str, Any] = json.loads((place / IDENTITY).read_text())
    include = place / "torch" / "include"
    return Torch(known["__version__"], known["git_version"], known["pybind11_abi"], include)


def _download(release: str, machine: str, python: str, folder: pathlib.Path) -> pathlib.Path:
    platforms = [f"manylinux_2_28_{machine}", f"manylinux2014_{machine}"]
    words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", python]
    words += [word for platform in platforms for word in ("--platform", platform)]
    command = interpreter.command("-m", "pip", *words, "--dest", str(folder), f"torch=={release}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise HeadersError(f"pip finds no wheel of torch {release} for Python {python}, {machine}: {reason}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def _unpack(wheel: pathlib.Path, place: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place, [each for each in archive.namelist() if each.startswith("torch/include/")])
        tree = ast.parse(archive.read("torch/version.py"))
        internals = INTERNALS.search(archive.read("torch/lib/libtorch_python.so"))
    values = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    known = {name: values[name] for name in VERSION}
    known["pybind11_abi"] = internals[1].decode() if internals else ""
    (place / IDENTITY).write_text(json.dumps(known))
