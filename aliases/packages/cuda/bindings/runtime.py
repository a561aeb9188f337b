"""CUDA's runtime: each function returns a tuple that begins with its error code."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

from .._morph import calls, handles, properties
from .._morph.calls import enumeration

_MODULE = __name__

cudaError_t = enumeration("cudaError_t", _MODULE)
cudaMemcpyKind = enumeration("cudaMemcpyKind", _MODULE)
cudaDeviceAttr = enumeration("cudaDeviceAttr", _MODULE)
cudaLimit = enumeration("cudaLimit", _MODULE)

cudaDeviceProp = properties.cudaDeviceProp
cudaPointerAttributes = properties.cudaPointerAttributes
cudaStream_t = handles.handle("cudaStream_t", _MODULE)
cudaEvent_t = handles.handle("cudaEvent_t", _MODULE)
cudaIpcMemHandle_t = handles.reserved("cudaIpcMemHandle_t", _MODULE)
cudaIpcEventHandle_t = handles.reserved("cudaIpcEventHandle_t", _MODULE)

cudaStreamDefault, cudaStreamNonBlocking = 0, 1
cudaStreamLegacy, cudaStreamPerThread = 1, 2
cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming, cudaEventInterprocess = 0, 1, 2, 4
cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped, cudaHostAllocWriteCombined = 0, 1, 2, 4
cudaHostRegisterDefault, cudaHostRegisterPortable, cudaHostRegisterMapped = 0, 1, 2
cudaHostRegisterIoMemory, cudaHostRegisterReadOnly = 4, 8
cudaMemAttachGlobal, cudaMemAttachHost, cudaMemAttachSingle = 1, 2, 4
cudaDeviceScheduleAuto, cudaDeviceScheduleSpin, cudaDeviceScheduleYield = 0, 1, 2
cudaDeviceScheduleBlockingSync, cudaDeviceMapHost = 4, 8
cudaIpcMemLazyEnablePeerAccess = 1
cudaCpuDeviceId, cudaInvalidDeviceId = -1, -2
CUDART_VERSION = 13000


class cudaMemoryType(enum.IntEnum):
    """The kinds of memory."""

    cudaMemoryTypeUnregistered = 0
    cudaMemoryTypeHost = 1
    cudaMemoryTypeDevice = 2
    cudaMemoryTypeManaged = 3


def _reserved(kind: Any) -> Any:
    def make(block: Any) -> Any:
        made = kind()
        made.reserved = bytes(block.reserved)
        return made

    return make


def _pointer_attributes(block: Any) -> cudaPointerAttributes:
    made = cudaPointerAttributes(block)
    made.type = cudaMemoryType(made.type)
    return made


_library = calls.Library(
    properties.FILE,
    "runtime",
    cudaError_t,
    {
        "stream": cudaStream_t,
        "event": cudaEvent_t,
        "properties": cudaDeviceProp,
        "attributes": _pointer_attributes,
        "memory_handle": _reserved(cudaIpcMemHandle_t),
        "event_handle": _reserved(cudaIpcEventHandle_t),
    },
    _MODULE,
)
globals().update(_library.functions())


def cudaGetErrorName(error: Any) -> tuple[Any, bytes]:
    """Return the name of an error code."""
    return cudaError_t(0), _words("cudaGetErrorName", error)


def cudaGetErrorString(error: Any) -> tuple[Any, bytes]:
    """Return what an error code means."""
    return cudaError_t(0), _words("cudaGetErrorString", error)


def _words(name: str, error: Any) -> bytes:
    function = _library.library[name]
    function.restype = ctypes.c_char_p
    return bytes(function(int(error)))
