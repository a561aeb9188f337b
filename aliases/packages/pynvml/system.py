"""NVML's functions for the machine as a whole."""

from __future__ import annotations

from morph.base.importing import own_imports

from .errors import fail
from .library import source, unsupported_if_unknown

with own_imports:
    import psutil

NVML_VERSION = "13.615.71"


def nvmlSystemGetDriverVersion() -> str:
    """Return the version of the vendor's driver."""
    with unsupported_if_unknown():
        return source().driver_version()


def nvmlSystemGetNVMLVersion() -> str:
    """Return the version of the served interface."""
    source()
    return NVML_VERSION


def nvmlSystemGetCudaDriverVersion() -> int:
    """Return the version of the vendor's equivalent of CUDA, as ``1000 * major + 10 * minor``."""
    with unsupported_if_unknown():
        return source().runtime_version()


def nvmlSystemGetProcessName(pid: int) -> str:
    """Return the program of a process: its path, or its name if this user may not see the path.

    Raises:
        NVMLError_NotFound: If there is no such process.
        NVMLError_NoPermission: If this user may not see the process at all.
    """
    source()
    try:
        return _program(psutil.Process(pid))
    except psutil.NoSuchProcess:
        fail("NOT_FOUND")
    except psutil.AccessDenied:
        fail("NO_PERMISSION")


def _program(process: psutil.Process) -> str:
    try:
        return process.exe() or process.name()
    except psutil.AccessDenied:
        return process.name()
