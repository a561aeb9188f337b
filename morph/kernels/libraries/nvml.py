"""The functions of libnvidia-ml, by those of the served pynvml."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from ctypes import c_char_p, c_int, c_uint, c_ulonglong, c_void_p
from typing import TYPE_CHECKING, Any

from morph.kernels.libraries.callbacks import Callbacks, NullPointerError, fill, required, text

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.kernels.libraries.loading import Loaded

INVALID_ARGUMENT, NOT_SUPPORTED, TOO_SMALL, UNKNOWN = 2, 3, 7, 999
UNKNOWN_BYTES = (1 << 64) - 1  # NVML_VALUE_NOT_AVAILABLE
TAKES = {"device": c_void_p, "int": c_uint, "words": c_char_p, "version": None}
WRITES = {
    "int": (c_void_p,),
    "long": (c_void_p,),
    "device": (c_void_p,),
    "structure": (c_void_p,),
    "text": (c_void_p, c_uint),
    "processes": (c_void_p, c_void_p),
}


class Process(ctypes.Structure):
    """nvmlProcessInfo_t."""

    _fields_ = [("pid", c_uint), ("memory", c_ulonglong), ("gpu_instance", c_uint), ("instance", c_uint)]


class Devices:
    """What stands for each device in C."""

    FIRST, STEP = 0x2000, 0x10

    def handle(self, device: Any) -> int:
        """Return the handle of a device of pynvml's."""
        return self.FIRST + self.STEP * int(_pynvml().nvmlDeviceGetIndex(device))

    def device(self, handle: int | None) -> Any:
        """Return the device of a handle."""
        return _pynvml().nvmlDeviceGetHandleByIndex(((handle or 0) - self.FIRST) // self.STEP)


def functions(library: Loaded, backend: Backend) -> Callbacks:
    """Return the functions.

    Args:
        library: libnvidia-ml.
        backend: The backend that it serves.
    """

    def failed(name: str, error: Exception) -> int:
        code = getattr(error, "value", None)
        if code is None:
            return INVALID_ARGUMENT if isinstance(error, NullPointerError) else UNKNOWN
        notes = " ".join(getattr(error, "__notes__", ())) or str(error)
        library.say(int(code), f"{name}: {notes}")
        return int(code)

    calls = Callbacks(failed)
    _add_session(calls, library)
    devices = Devices()
    _add_structures(calls, devices)
    for name, signature in library.table.facts["signatures"].items():
        _add(calls, name, signature, devices)
    return calls


def _add_session(calls: Callbacks, library: Loaded) -> None:
    @calls.serve("nvmlInit", "nvmlInit_v2")
    def init() -> None:
        _pynvml().nvmlInit()

    @calls.serve("nvmlInitWithFlags", takes=(c_uint,))
    def init_with(flags: int) -> None:
        _pynvml().nvmlInit()

    @calls.serve("nvmlShutdown")
    def shutdown() -> None:
        _pynvml().nvmlShutdown()

    @calls.serve("nvmlErrorString", result=c_void_p, takes=(c_int,))
    def words_of(code: int) -> int:
        words = str(_pynvml().NVMLError(code)) if code else "Success"
        reason = library.reason(code)
        return text(f"{words}: {reason}" if reason else words)


def _add_structures(calls: Callbacks, devices: Devices) -> None:
    """Serve the functions that read what they are asked in the structures that they fill."""

    @calls.serve("nvmlDeviceGetTemperatureV", takes=(c_void_p, c_void_p))
    def temperature_of(handle: int, place: int | None) -> None:
        module, device = _pynvml(), devices.device(handle)
        asked = module.c_nvmlTemperature_v1_t.from_address(required(place))
        asked.temperature = module.nvmlDeviceGetTemperatureV(device, asked.sensorType, asked.version)

    @calls.serve("nvmlDeviceGetFieldValues", takes=(c_void_p, c_int, c_void_p))
    def values_of(handle: int, count: int, places: int | None) -> None:
        module = _pynvml()
        asked = (module.c_nvmlFieldValue_t * count).from_address(required(places))
        found = module.nvmlDeviceGetFieldValues(
            devices.device(handle), [(each.fieldId, each.scopeId) for each in asked]
        )
        ctypes.memmove(asked, found, ctypes.sizeof(found))


def _add(calls: Callbacks, name: str, signature: str, devices: Devices) -> None:
    """Serve a function by its signature."""
    taken, _, written = signature.partition("->")
    inputs, outputs = taken.split(), written.split()
    types = [TAKES[each] for each in inputs if each != "version"]
    types += [kind for each in outputs for kind in WRITES[each]]

    @calls.serve(name, takes=tuple(types))
    def call(*arguments: Any) -> int:
        rest = iter(arguments)
        given = [_given(kind, rest, devices) for kind in inputs if kind != "version"]
        places = list(rest)
        if "version" in inputs:
            given.append(c_uint.from_address(places[0]).value)
        result = _function(name)(*given)
        values = list(result) if len(outputs) > 1 else [result] if outputs else []
        return _write(outputs, values, iter(places), devices)


def _function(name: str) -> Callable[..., Any]:
    module = _pynvml()
    return getattr(module, name, None) or getattr(module, re.sub(r"_v\d+$", "", name))  # type: ignore[no-any-return]


def _given(kind: str, arguments: Iterator[Any], devices: Devices) -> Any:
    value = next(arguments)
    if kind == "device":
        return devices.device(value)
    return required(value).decode(errors="replace") if kind == "words" else value


def _write(kinds: list[str], values: list[Any], places: Iterator[Any], devices: Devices) -> int:
    """Write the results through the pointers; return NVML's code."""
    code = 0
    for kind, value in zip(kinds, values, strict=True):
        place = next(places)
        if kind == "processes":
            return _write_processes(value, place, next(places))
        if kind == "text":
            code = 0 if fill(required(place), next(places), str(value)) else TOO_SMALL
        elif not place:
            return INVALID_ARGUMENT
        elif kind == "device":
            c_void_p.from_address(place).value = devices.handle(value)
        elif kind == "structure":
            ctypes.memmove(place, ctypes.byref(value), ctypes.sizeof(value))
        else:
            (c_ulonglong if kind == "long" else c_uint).from_address(place).value = int(value)
    return code


def _write_processes(found: list[Any], count: int | None, array: int | None) -> int:
    if not count:
        return INVALID_ARGUMENT
    room = c_uint.from_address(count)
    available, room.value = room.value, len(found)
    if found and (not array or available < len(found)):
        return TOO_SMALL
    for place, process in zip(
        (Process * len(found)).from_address(array or 0) if found else (), found, strict=True
    ):
        memory = UNKNOWN_BYTES if process.usedGpuMemory is None else process.usedGpuMemory
        place.pid, place.memory = process.pid, memory
        place.gpu_instance = place.instance = c_uint(-1).value
    return 0


def _pynvml() -> Any:
    import pynvml

    return pynvml
