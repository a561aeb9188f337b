"""Where CUDA's libraries are: those that morph serves, and no other one."""

from __future__ import annotations

import ctypes
import dataclasses
import os

_SERVED = {"cudart": "libcudart.so.13", "nvrtc": "libnvrtc.so.13", "nccl": "libnccl.so.2"}
_SERVED |= {"cublas": "libcublas.so.13", "cufft": "libcufft.so.12", "curand": "libcurand.so.10"}
_SERVED |= {"cusparse": "libcusparse.so.12", "cusolver": "libcusolver.so.12"}


class DynamicLibNotFoundError(RuntimeError):
    """A library that is not there."""


class DynamicLibNotAvailableError(DynamicLibNotFoundError):
    """A library that is not there for this platform."""


class DynamicLibUnknownError(DynamicLibNotFoundError):
    """A library that nobody knows."""


@dataclasses.dataclass(frozen=True)
class LoadedDL:
    """A loaded library.

    Attributes:
        abs_path: Its path.
        was_already_loaded_from_elsewhere: Whether another one had loaded it.
        _handle_uint: What ``dlopen`` gave.
        found_via: How it was found.
    """

    abs_path: str
    was_already_loaded_from_elsewhere: bool
    _handle_uint: int
    found_via: str


def load_nvidia_dynamic_lib(libname: str) -> LoadedDL:
    """Load a library.

    Raises:
        DynamicLibNotFoundError: If morph does not serve it.
    """
    file = _SERVED.get(libname)
    if file is None:
        raise DynamicLibNotFoundError(
            f"lib{libname} is not served on the software device; use what torch has for it"
        )
    loaded = ctypes.CDLL(file)
    return LoadedDL(_path(file), False, loaded._handle, "morph")


def find_nvidia_header_directory(libname: str) -> str | None:
    """Return the folder of CUDA's headers, or None if there is none."""
    folder = os.path.join(_home(), "include")
    return folder if libname in ("cudart", "nvrtc") else None


def find_nvidia_binary_utility(utility_name: str) -> str | None:
    """Return the path of a program of CUDA's toolkit, or None if there is none."""
    path = os.path.join(_home(), "bin", utility_name)
    return path if os.path.exists(path) else None


def _home() -> str:
    from torch.utils import cpp_extension

    return str(cpp_extension.CUDA_HOME)


def _path(file: str) -> str:
    from morph.kernels.libraries.loading import path_of

    return path_of(file)
