"""The functions of libcudart that are written in Python: versions, errors, and what a device is like."""

from __future__ import annotations

import ctypes
import struct
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import TYPE_CHECKING, Any

from morph.kernels.libraries import numbers, vendor_cudart
from morph.kernels.libraries.callbacks import Callbacks, NullPointerError, fill, required, text
from morph.software.machine import is_started

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.kernels.libraries.loading import Loaded

INVALID_VALUE, INVALID_DEVICE, UNSUPPORTED_LIMIT, UNKNOWN = 1, 101, 215, 999
LIMITS = {0: 1024, 1: 1 << 20, 2: 8 << 20, 5: 64, 6: 0}  # of a GPU: cudaLimitStackSize and so on


def functions(library: Loaded, backend: Backend) -> Callbacks:
    """Return the functions.

    Args:
        library: libcudart.
        backend: The backend that it serves.
    """
    calls = Callbacks(
        lambda name, error: library.noted(INVALID_VALUE if isinstance(error, NullPointerError) else UNKNOWN)
    )
    _add_errors(calls, library)
    _add_versions(calls, library)
    if is_started():
        _add_devices(calls, library)
        _add_settings(calls, library)
    elif backend.name in library.table.vendors:
        vendor_cudart.add(calls, library, library.table.vendors[backend.name])
    return calls


def _add_errors(calls: Callbacks, library: Loaded) -> None:
    @calls.serve("cudaGetErrorName", result=c_void_p, takes=(c_int,))
    def name_of(code: int) -> int:
        return text(numbers.name("cudaError_t", code) or "unrecognized error code")

    @calls.serve("cudaGetErrorString", result=c_void_p, takes=(c_int,))
    def words_of(code: int) -> int:
        words = numbers.words(code)
        reason = library.reason(code)
        return text(f"{words}: {reason}" if reason else words)


def _add_versions(calls: Callbacks, library: Loaded) -> None:
    own = numbers.version(library.file)

    @calls.serve("cudaRuntimeGetVersion", takes=(POINTER(c_int),))
    def version(answer: Any) -> int:
        if not answer:
            return library.noted(INVALID_VALUE)
        answer[0] = own
        return 0

    @calls.serve("cudaDriverGetVersion", takes=(POINTER(c_int),))
    def drivers(answer: Any) -> int:
        if not answer:
            return library.noted(INVALID_VALUE)
        answer[0] = numbers.driver_version(own)
        return 0


def _add_devices(calls: Callbacks, library: Loaded) -> None:
    attributes, layout = numbers.attributes(library.table), numbers.layout(library.file)

    @calls.serve("cudaDeviceGetAttribute", takes=(POINTER(c_int), c_int, c_int))
    def attribute(answer: Any, number: int, device: int) -> int:
        properties = numbers.properties(device)
        if properties is None:
            return library.noted(INVALID_DEVICE)
        if not answer or number not in attributes:
            return library.noted(INVALID_VALUE)
        answer[0] = numbers.value(attributes[number], properties)
        return 0

    @calls.serve("cudaGetDeviceProperties", "cudaGetDeviceProperties_v2", takes=(c_void_p, c_int))
    def properties_of(answer: int | None, device: int) -> int:
        properties = numbers.properties(device)
        if properties is None:
            return library.noted(INVALID_DEVICE)
        if not answer:
            return library.noted(INVALID_VALUE)
        block = _structure(layout, library.table.facts["properties"], properties)
        ctypes.memmove(answer, block, len(block))
        return 0

    @calls.serve("cudaDeviceGetPCIBusId", takes=(c_void_p, c_int, c_int))
    def bus_of(answer: int | None, size: int, device: int) -> int:
        properties = numbers.properties(device)
        if properties is None:
            return library.noted(INVALID_DEVICE)
        return 0 if fill(answer, size, numbers.bus(properties)) else library.noted(INVALID_VALUE)

    @calls.serve("cudaDeviceGetByPCIBusId", takes=(POINTER(c_int), c_char_p))
    def by_bus(answer: Any, wanted: bytes) -> int:
        found = numbers.device_of_bus(required(wanted).decode(errors="replace"))
        if found is None or not answer:
            return library.noted(INVALID_VALUE)
        answer[0] = found
        return 0

    @calls.serve("cudaChooseDevice", takes=(POINTER(c_int), c_void_p))
    def choose(answer: Any, wanted: int) -> int:
        answer[0] = 0
        return 0


def _add_settings(calls: Callbacks, library: Loaded) -> None:
    limits, flags = dict(LIMITS), [0]

    @calls.serve("cudaDeviceSetLimit", takes=(c_int, c_size_t))
    def set_limit(number: int, value: int) -> int:
        if number not in limits:
            return library.noted(UNSUPPORTED_LIMIT)
        limits[number] = value
        return 0

    @calls.serve("cudaDeviceGetLimit", takes=(POINTER(c_size_t), c_int))
    def limit(answer: Any, number: int) -> int:
        if number not in limits:
            return library.noted(UNSUPPORTED_LIMIT)
        answer[0] = limits[number]
        return 0

    @calls.serve("cudaSetDeviceFlags", takes=(c_uint,))
    def set_flags(value: int) -> None:
        flags[0] = value

    @calls.serve("cudaGetDeviceFlags", takes=(POINTER(c_uint),))
    def get_flags(answer: Any) -> None:
        answer[0] = flags[0]

    @calls.serve("cudaSetValidDevices", takes=(c_void_p, c_int))
    def set_valid(devices: int, count: int) -> None:
        """All devices are alike."""


def _structure(layout: dict[str, Any], fields: dict[str, Any], properties: Any) -> bytes:
    """Return cudaDeviceProp as bytes."""
    block = bytearray(layout["size"])
    block[0:256] = properties.name.encode()[:255].ljust(256, b"\0")
    offset = layout["uuid"][0]
    block[offset : offset + 16] = properties.uuid.bytes
    for field, what in fields.items():
        if field in layout:
            offset, size = layout[field]
            values = [
                numbers.value(each, properties) for each in (what if isinstance(what, list) else [what])
            ]
            struct.pack_into({4: "<i", 8: "<q"}.get(size, f"<{len(values)}i"), block, offset, *values)
    return bytes(block)
