"""The functions of the vendor's runtime that its package binds: CUDA's names with the vendor's prefix."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

from morph.software import streams
from morph.software.machine import started


class Code(int):
    """A status code; 0 is success."""

    success: ClassVar[Code]


Code.success = Code(0)


def functions(prefix: str) -> dict[str, Any]:
    """Return the functions by the vendor's names for them: ``musaHostRegister``, with the prefix ``musa``."""
    by_name = {
        "Error": Code,
        "GetErrorString": error_string,
        "HostRegister": host_register,
        "HostUnregister": host_unregister,
        "StreamCreate": stream_create,
        "StreamDestroy": stream_destroy,
        "MemGetInfo": mem_get_info,
    }
    return {f"{prefix}{name}": function for name, function in by_name.items()}


def error_string(error: int) -> str:
    """Return what a status code means."""
    return str(started().native.error_text(int(error)))


def host_register(ptr: int, size: int, flags: int) -> Code:
    """Pin host memory by address."""
    return Code(started().native.register_host_memory(ptr, size))


def host_unregister(ptr: int) -> Code:
    """Unpin host memory by address."""
    return Code(started().native.unregister_host_memory(ptr))


def stream_create(ptr: int) -> Code:
    """Write the handle of a new stream to an address."""
    ctypes.c_void_p.from_address(ptr).value = streams.Stream().stream_id
    return Code.success


def stream_destroy(stream: int) -> Code:
    """Do nothing: streams come from a pool and need not be destroyed."""
    return Code.success


def mem_get_info(device: int) -> tuple[int, int]:
    """Return the free and the total bytes of a device."""
    free, total = started().native.mem_get_info(device)
    return int(free), int(total)
