"""CUDA's driver: each function returns a tuple that begins with its error code."""

from __future__ import annotations

import ctypes
from typing import Any

from morph.kernels.libraries import numbers

from .._morph import calls, handles

_MODULE = __name__
_ENUMERATIONS = (
    *("CUdevice_attribute", "CUctx_flags", "CUstream_flags", "CUevent_flags", "CUmemAttach_flags"),
    # those that programs read while they are imported, of functions that are not there
    *("CUmemAccess_flags", "CUmemAllocationGranularity_flags", "CUmemAllocationHandleType"),
    *("CUmemAllocationType", "CUmemLocationType", "CUpointer_attribute"),
)

CUresult = calls.enumeration("CUresult", _MODULE)
for _each in _ENUMERATIONS:
    globals()[_each] = calls.enumeration(_each, _MODULE)
globals().update(numbers.enumerators("cuda_h"))

CUdevice = handles.handle("CUdevice", _MODULE)
CUcontext = handles.handle("CUcontext", _MODULE)
CUstream = handles.handle("CUstream", _MODULE)
CUevent = handles.handle("CUevent", _MODULE)
CUdeviceptr = handles.handle("CUdeviceptr", _MODULE)
CUmodule = handles.handle("CUmodule", _MODULE)
CUfunction = handles.handle("CUfunction", _MODULE)
CUlibrary = handles.handle("CUlibrary", _MODULE)
CUkernel = handles.handle("CUkernel", _MODULE)
CUipcMemHandle = handles.reserved("CUipcMemHandle", _MODULE)
CUipcEventHandle = handles.reserved("CUipcEventHandle", _MODULE)
CUuuid = handles.Uuid

CU_IPC_HANDLE_SIZE = handles.BYTES

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
        "module": CUmodule,
        "function": CUfunction,
        "library": CUlibrary,
        "kernel": CUkernel,
        "uuid": lambda block: CUuuid(block.raw),
        "memory_handle": CUipcMemHandle.of,
        "event_handle": CUipcEventHandle.of,
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


def cuLaunchKernel(f: Any, *arguments: Any) -> tuple[Any]:
    """Launch a kernel: grid, block, shared memory, stream, arguments and ``extra``.

    The arguments are an address, an array of addresses, or a tuple of values and a tuple of their types.
    """
    *numbers_, stream, given, extra = arguments
    kept = None
    if isinstance(given, tuple):
        kept = [_argument(value, kind) for value, kind in zip(*given, strict=True)]
        places = [each if isinstance(each, int) else ctypes.addressof(each) for each in kept]
        given = (ctypes.c_void_p * (len(places) + 1))(*places)
    code = _library.library.cuLaunchKernel(
        ctypes.c_void_p(int(f)),
        *[ctypes.c_uint(int(each)) for each in numbers_],
        ctypes.c_void_p(handles.address(stream)),
        ctypes.c_void_p(handles.address(given)),
        ctypes.c_void_p(handles.address(extra)),
    )
    del kept
    return (CUresult(code),)


def _argument(value: Any, kind: Any) -> Any:
    """Return an argument in memory, or the address where it is."""
    if kind is None:
        return int(value.getPtr())
    return kind(int(value) if hasattr(value, "getPtr") else value)


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
