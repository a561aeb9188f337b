"""The functions of libcuda that are written in Python: versions, errors, and what a device is like."""

from __future__ import annotations

import ctypes
import re
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

from morph.backends.tables import library as tables
from morph.kernels.libraries import cuda_launches, cuda_links, cuda_modules, numbers
from morph.kernels.libraries.callbacks import Callbacks, NullPointerError, fill, required, text
from morph.kernels.libraries.cudart import INVALID_DEVICE, INVALID_VALUE, LIMITS, UNKNOWN, UNSUPPORTED_LIMIT
from morph.software.machine import is_started

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.kernels.libraries.loading import Loaded

NOT_FOUND = 500  # CUDA_ERROR_NOT_FOUND


def functions(library: Loaded, backend: Backend) -> Callbacks:
    """Return the functions.

    Args:
        library: libcuda.
        backend: The backend that it serves.
    """
    calls = Callbacks(lambda name, error: INVALID_VALUE if isinstance(error, NullPointerError) else UNKNOWN)
    _add_errors(calls, library)
    _add_versions(calls)
    _add_lookup(calls, library)
    if is_started():
        _add_devices(calls)
        _add_limits(calls)
        cuda_launches.add(calls, cuda_modules.add(calls, library))
        cuda_links.add(calls, library)
    return calls


def _add_errors(calls: Callbacks, library: Loaded) -> None:
    @calls.serve("cuGetErrorName", takes=(c_int, POINTER(c_void_p)))
    def name_of(code: int, answer: Any) -> int:
        name = numbers.name("CUresult", code)
        answer[0] = text(name) if name else None
        return 0 if name else INVALID_VALUE

    @calls.serve("cuGetErrorString", takes=(c_int, POINTER(c_void_p)))
    def words_of(code: int, answer: Any) -> int:
        if numbers.name("CUresult", code) is None:
            answer[0] = None
            return INVALID_VALUE
        reason = library.reason(code)
        answer[0] = text(f"{numbers.words(code)}: {reason}" if reason else numbers.words(code))
        return 0


def _add_versions(calls: Callbacks) -> None:
    @calls.serve("cuDriverGetVersion", takes=(POINTER(c_int),))
    def version(answer: Any) -> int:
        if not answer:
            return INVALID_VALUE
        answer[0] = numbers.driver_version()
        return 0


def _add_lookup(calls: Callbacks, library: Loaded) -> None:
    names = set(library.table.releases[library.file])

    def look_up(symbol: bytes, answer: Any, version: int) -> int:
        found = _newest(required(symbol).decode(errors="replace"), version, names)
        if found is None or library.table.entry(found).status == "absent":
            answer[0] = None
            return NOT_FOUND
        answer[0] = library.address(found)
        return 0

    @calls.serve("cuGetProcAddress", takes=(c_char_p, POINTER(c_void_p), c_int, c_uint64))
    def address(symbol: bytes, answer: Any, version: int, flags: int) -> int:
        return look_up(symbol, answer, version)

    @calls.serve("cuGetProcAddress_v2", takes=(c_char_p, POINTER(c_void_p), c_int, c_uint64, POINTER(c_int)))
    def address_and_status(symbol: bytes, answer: Any, version: int, flags: int, status: Any) -> int:
        code = look_up(symbol, answer, version)
        if status:
            status[0] = 1 if code else 0
        return code


def _add_devices(calls: Callbacks) -> None:
    attributes = numbers.attributes(tables.load("libcudart"))  # which have the same numbers

    @calls.serve("cuDeviceGetAttribute", takes=(POINTER(c_int), c_int, c_int))
    def attribute(answer: Any, number: int, device: int) -> int:
        properties = numbers.properties(device)
        if properties is None:
            return INVALID_DEVICE
        if not answer or number not in attributes:
            return INVALID_VALUE
        answer[0] = numbers.value(attributes[number], properties)
        return 0

    @calls.serve("cuDeviceGetName", takes=(c_void_p, c_int, c_int))
    def name_of(answer: int | None, size: int, device: int) -> int:
        properties = numbers.properties(device)
        if properties is None:
            return INVALID_DEVICE
        return 0 if fill(answer, size, properties.name[: max(size - 1, 0)]) else INVALID_VALUE

    @calls.serve("cuDeviceGetUuid", takes=(c_void_p, c_int))
    def identity(answer: int | None, device: int) -> int:
        properties = numbers.properties(device)
        if properties is None or not answer:
            return INVALID_VALUE if properties else INVALID_DEVICE
        ctypes.memmove(answer, bytes(properties.uuid.bytes), 16)  # a list, as torch's own are
        return 0

    @calls.serve("cuDeviceComputeCapability", takes=(POINTER(c_int), POINTER(c_int), c_int))
    def capability(major: Any, minor: Any, device: int) -> int:
        properties = numbers.properties(device)
        if properties is None:
            return INVALID_DEVICE
        major[0], minor[0] = properties.major, properties.minor
        return 0

    @calls.serve("cuDeviceGetPCIBusId", takes=(c_void_p, c_int, c_int))
    def bus_of(answer: int | None, size: int, device: int) -> int:
        properties = numbers.properties(device)
        if properties is None:
            return INVALID_DEVICE
        return 0 if fill(answer, size, numbers.bus(properties)) else INVALID_VALUE

    @calls.serve("cuDeviceGetByPCIBusId", takes=(POINTER(c_int), c_char_p))
    def by_bus(answer: Any, wanted: bytes) -> int:
        found = numbers.device_of_bus(required(wanted).decode(errors="replace"))
        if found is None or not answer:
            return INVALID_VALUE
        answer[0] = found
        return 0


def _add_limits(calls: Callbacks) -> None:
    limits = dict(LIMITS)

    @calls.serve("cuCtxSetLimit", takes=(c_int, c_size_t))
    def set_limit(number: int, value: int) -> int:
        if number not in limits:
            return UNSUPPORTED_LIMIT
        limits[number] = value
        return 0

    @calls.serve("cuCtxGetLimit", takes=(POINTER(c_size_t), c_int))
    def limit(answer: Any, number: int) -> int:
        if number not in limits:
            return UNSUPPORTED_LIMIT
        answer[0] = limits[number]
        return 0


# the versions of CUDA from which a function of another signature has the name; others change at their second
_CHANGES = {
    "cuCtxCreate": {2: 3020, 3: 11040, 4: 13000},
    "cuGetProcAddress": {2: 12000},
    "cuMemcpyBatchAsync": {2: 13000},
}
_NEW_IN_13 = {"cuCtxGetDevice", "cuCtxSynchronize"}  # beside the old ones


def _newest(symbol: str, version: int, names: set[str]) -> str | None:
    """Return the name of the function that a symbol is in a version of CUDA."""
    if re.search(r"_v\d+$", symbol):
        return symbol if symbol in names else None
    changes = _CHANGES.get(symbol, {} if symbol in _NEW_IN_13 else {2: 3020})
    found = [f"{symbol}_v{number}" for number, since in changes.items() if version >= since]
    return next((each for each in [*reversed(found), symbol] if each in names), None)
