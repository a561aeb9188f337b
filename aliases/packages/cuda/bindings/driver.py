"""CUDA's driver: each function returns a tuple that begins with its error code."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

from .._morph import calls, handles
from .._morph.calls import enumeration

_MODULE = __name__

CUresult = enumeration("CUresult", _MODULE)
CUdevice_attribute = enumeration("CUdevice_attribute", _MODULE)

CUdevice = handles.handle("CUdevice", _MODULE)
CUcontext = handles.handle("CUcontext", _MODULE)
CUstream = handles.handle("CUstream", _MODULE)
CUevent = handles.handle("CUevent", _MODULE)
CUdeviceptr = handles.handle("CUdeviceptr", _MODULE)
CUipcMemHandle = handles.reserved("CUipcMemHandle", _MODULE)
CUipcEventHandle = handles.reserved("CUipcEventHandle", _MODULE)
CUuuid = handles.Uuid

CU_IPC_HANDLE_SIZE = handles.BYTES
CU_STREAM_LEGACY, CU_STREAM_PER_THREAD = 1, 2
CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_WRITECOMBINED = 1, 2, 4
CUDA_VERSION = 13000


class CUctx_flags(enum.IntEnum):
    """The flags of a context."""

    CU_CTX_SCHED_AUTO = 0
    CU_CTX_SCHED_SPIN = 1
    CU_CTX_SCHED_YIELD = 2
    CU_CTX_SCHED_BLOCKING_SYNC = 4
    CU_CTX_MAP_HOST = 8


class CUstream_flags(enum.IntEnum):
    """The flags of a stream."""

    CU_STREAM_DEFAULT = 0
    CU_STREAM_NON_BLOCKING = 1


class CUevent_flags(enum.IntEnum):
    """The flags of an event."""

    CU_EVENT_DEFAULT = 0
    CU_EVENT_BLOCKING_SYNC = 1
    CU_EVENT_DISABLE_TIMING = 2
    CU_EVENT_INTERPROCESS = 4


class CUmemAttach_flags(enum.IntEnum):
    """The flags of managed memory."""

    CU_MEM_ATTACH_GLOBAL = 1
    CU_MEM_ATTACH_HOST = 2
    CU_MEM_ATTACH_SINGLE = 4


class CUpointer_attribute(enum.IntEnum):
    """The attributes of an address that are known."""

    CU_POINTER_ATTRIBUTE_CONTEXT = 1
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12


def _reserved(kind: Any) -> Any:
    def make(block: Any) -> Any:
        made = kind()
        made.reserved = bytes(block.reserved)
        return made

    return make


_library = calls.Library(
    "libcuda.so.1",
    "driver",
    CUresult,
    {
        "device": CUdevice,
        "context": CUcontext,
        "stream": CUstream,
        "event": CUevent,
        "address": CUdeviceptr,
        "uuid": lambda block: CUuuid(block.raw),
        "memory_handle": _reserved(CUipcMemHandle),
        "event_handle": _reserved(CUipcEventHandle),
    },
    _MODULE,
)
globals().update(_library.functions())


def cuCtxCreate(*arguments: Any) -> tuple[Any, Any]:
    """Make a device's context current; with flags and a device, or with parameters before them."""
    flags, device = arguments[-2:]
    place = ctypes.c_void_p()
    code = _library.library.cuCtxCreate_v2(
        ctypes.byref(place), ctypes.c_uint(int(flags)), ctypes.c_int(int(device))
    )
    return CUresult(code), None if code else CUcontext(place.value or 0)


def cuGetErrorName(error: Any) -> tuple[Any, bytes | None]:
    """Return the name of an error code."""
    return _words("cuGetErrorName", error)


def cuGetErrorString(error: Any) -> tuple[Any, bytes | None]:
    """Return what an error code means."""
    return _words("cuGetErrorString", error)


def cuPointerGetAttribute(attribute: Any, ptr: Any) -> tuple[Any, Any]:
    """Return an attribute of an address."""
    place = ctypes.c_uint64()
    code = _library.library.cuPointerGetAttribute(
        ctypes.byref(place), ctypes.c_int(int(attribute)), ctypes.c_void_p(handles.address(ptr))
    )
    return CUresult(code), None if code else place.value


def _words(name: str, error: Any) -> tuple[Any, bytes | None]:
    text = ctypes.c_char_p()
    code = _library.library[name](int(error), ctypes.byref(text))
    return CUresult(code), text.value
