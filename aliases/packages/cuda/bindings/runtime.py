"""CUDA's runtime: each function returns a tuple that begins with its error code."""

from __future__ import annotations

import ctypes
from typing import Any

from morph.kernels.libraries import numbers

from .._morph import calls, handles, properties
from .._morph.calls import enumeration

_MODULE = __name__

cudaError_t = enumeration("cudaError_t", _MODULE)
cudaMemcpyKind = enumeration("cudaMemcpyKind", _MODULE)
cudaDeviceAttr = enumeration("cudaDeviceAttr", _MODULE)
cudaLimit = enumeration("cudaLimit", _MODULE)
cudaMemoryType = enumeration("cudaMemoryType", _MODULE)
globals().update(numbers.enumerators("cuda_runtime_h"))

cudaDeviceProp = properties.cudaDeviceProp
cudaPointerAttributes = properties.cudaPointerAttributes
cudaStream_t = handles.handle("cudaStream_t", _MODULE)
cudaEvent_t = handles.handle("cudaEvent_t", _MODULE)
cudaIpcMemHandle_t = handles.reserved("cudaIpcMemHandle_t", _MODULE)
cudaIpcEventHandle_t = handles.reserved("cudaIpcEventHandle_t", _MODULE)


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
        "memory_handle": cudaIpcMemHandle_t.of,
        "event_handle": cudaIpcEventHandle_t.of,
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
