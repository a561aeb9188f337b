"""The functions of the vendor's runtime that its package binds: CUDA's names with the vendor's prefix."""

from __future__ import annotations

import ctypes
from typing import Any

from morph.base.status import Status
from morph.software import streams
from morph.software.machine import started

INVALID_VALUE = 1  # of cudaError


def functions(prefix: str) -> dict[str, Any]:
    """Return the functions by the vendor's names for them: ``musaHostRegister``, with the prefix ``musa``."""
    by_name = {
        "Error": Status,
        "GetErrorString": status_string,
        "HostRegister": host_register,
        "HostUnregister": host_unregister,
        "StreamCreate": stream_create,
        "StreamDestroy": stream_destroy,
        "MemGetInfo": mem_get_info,
    }
    return {f"{prefix}{name}": function for name, function in by_name.items()}


def status_string(error: Status) -> str:
    """Return what a status means; a number is none, as in torch's binding."""
    if not isinstance(error, Status):
        raise TypeError(f"GetErrorString(): incompatible function arguments. Invoked with: {error!r}")
    return error_string(error)


def error_string(error: int | Status) -> str:
    """Return what a status code means."""
    return str(started().native.error_text(int(error)))


def host_register(ptr: int, size: int, flags: int) -> Status:
    """Pin host memory by address."""
    return Status(started().native.register_host_memory(ptr, size))


def host_unregister(ptr: int) -> Status:
    """Unpin host memory by address."""
    return Status(started().native.unregister_host_memory(ptr))


def stream_create(ptr: int) -> Status:
    """Write the handle of a new stream to an address."""
    if not ptr:
        return Status(INVALID_VALUE)
    ctypes.c_void_p.from_address(ptr).value = streams.Stream().stream_id
    return Status.success


def stream_destroy(stream: int) -> Status:
    """Do nothing: streams come from a pool and need not be destroyed."""
    return Status.success


def mem_get_info(device: int) -> tuple[int, int]:
    """Return the free and the total bytes of a device."""
    free, total = started().native.mem_get_info(device)
    return int(free), int(total)
