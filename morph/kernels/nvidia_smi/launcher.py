"""The folder with ``nvidia-smi`` that child processes find on ``PATH``."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shlex
import shutil
import sys
from collections.abc import MutableMapping
from importlib.machinery import PathFinder

from morph.base import private

NAME = "nvidia-smi"
_DRIVER = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")  # on Linux, and in WSL

_NEEDED = ("psutil", "platformdirs", "torch")  # which may lie where only this process's sys.path leads

_PROGRAM = """\
import sys

sys.path[:1] = {paths!r}
from morph.kernels.nvidia_smi.command import main

sys.exit(main(sys.argv[1:]))
"""
_SCRIPT = """\
#!/bin/sh
PYTHONPATH= exec {python} -sS {program} "$@"
"""


def put_on_path(environment: MutableMapping[str, str]) -> None:
    """Make the children of a process with this ``environment`` find morph's ``nvidia-smi``.

    Where NVIDIA's driver is, nothing changes. NVIDIA's own program does not work without it: then morph's is
    first.

    Raises:
        OSError: If no folder of the cache can be written.
    """
    if any(map(os.path.exists, _DRIVER)):
        return
    path = [each for each in environment.get("PATH", os.defpath).split(os.pathsep) if each]
    own = str(folder())
    others = [each for each in path if each != own]
    real = shutil.which(NAME, path=os.pathsep.join(others))
    environment["PATH"] = os.pathsep.join([*others, own] if real is None else [own, *others])


def folder() -> pathlib.Path:
    """Return the folder with ``nvidia-smi`` for this Python, which is created at the first call.

    Raises:
        OSError: If no folder of the cache can be written.
    """
    program = _PROGRAM.format(paths=_paths())
    key = hashlib.sha256(f"{sys.executable}\n{program}".encode()).hexdigest()[:16]
    problem: OSError | None = None
    for root in private.folders("programs"):
        try:
            if not private.is_private(root / key / NAME):
                _write(root / key, program)
        except OSError as error:
            problem = error
            continue
        return root / key
    assert problem is not None
    raise problem


def _write(found: pathlib.Path, program: str) -> None:
    source = found / "nvidia_smi.py"
    script = _SCRIPT.format(python=shlex.quote(sys.executable), program=shlex.quote(str(source)))
    private.prepare(found)
    private.write(source, program.encode())
    private.write(found / NAME, script.encode(), mode=0o700)


def _paths() -> list[str]:
    """Return the folders that morph and what it needs are imported from."""
    own = str(pathlib.Path(__file__).parents[3])
    sites = [each for each in sys.path if os.path.basename(each) in ("site-packages", "dist-packages")]
    found = [PathFinder.find_spec(name) for name in _NEEDED]
    others = [str(_folder_of(spec.origin)) for spec in found if spec is not None and spec.origin]
    return list(dict.fromkeys([own, *sites, *others]))


def _folder_of(origin: str) -> pathlib.Path:
    """Return the folder that a module is imported from, which may be no site-packages (``PYTHONPATH``)."""
    file = pathlib.Path(origin)
    return file.parents[1] if file.stem == "__init__" else file.parent
