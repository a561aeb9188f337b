"""NVML's C functions, for programs that call them and pass their own buffers.

Each takes the arguments of the Python function, then pointers for the result, and returns a status code.
"""

from __future__ import annotations

import ctypes
import inspect
import re
from collections.abc import Callable
from typing import Any

from .constants import CONSTANTS, NVML_VALUE_NOT_AVAILABLE_ulonglong
from .declared import FUNCTIONS
from .errors import NVMLError, fail
from .library import source

_SUCCESS = CONSTANTS["NVML_SUCCESS"]
_TOO_SMALL = CONSTANTS["NVML_ERROR_INSUFFICIENT_SIZE"]
_VERSION = re.compile(r"_v\d+$")
_PROCESSES = re.compile(r"nvmlDeviceGet\w*RunningProcesses")

_REFERENCE = type(ctypes.byref(ctypes.c_int()))

CFunction = Callable[..., int]

FUNCTIONS_OF_LIBRARY: dict[str, Callable[..., Any]] = {}
"""By its name, what each C function does, whatever a program puts in place of the module's functions."""


def _nvmlGetFunctionPointer(name: str) -> CFunction:
    """Return the C function ``name``.

    Raises:
        NVMLError_Uninitialized: If the library is not open.
        NVMLError_FunctionNotFound: If there is no function of that name.
    """
    source()
    if name not in _nvmlGetFunctionPointer_cache:
        plain = name if name in FUNCTIONS else _VERSION.sub("", name)
        if plain not in FUNCTIONS:
            fail("FUNCTION_NOT_FOUND", name)
        _nvmlGetFunctionPointer_cache[name] = _c_function(name, plain)
    return _nvmlGetFunctionPointer_cache[name]


_nvmlGetFunctionPointer_cache: dict[str, CFunction] = {}


def _c_function(name: str, plain: str) -> CFunction:
    fill = (
        _fill_processes
        if _PROCESSES.match(plain)
        else _fill_values
        if plain.endswith("FieldValues")
        else _fill_temperature
        if plain == "nvmlDeviceGetTemperatureV"
        else _fill
    )

    def call(*arguments: Any) -> int:
        try:
            return fill(FUNCTIONS_OF_LIBRARY[plain], [_plain(argument) for argument in arguments])
        except NVMLError as error:
            return error.value

    call.__name__ = name
    return call


def _fill(function: Callable[..., Any], arguments: list[Any]) -> int:
    """Call ``function`` with its own arguments, and store the result through the remaining pointers."""
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    given, places = arguments[: len(required)], arguments[len(required) :]
    structure = places[0] if places else None
    version = getattr(structure, "version", 0)
    if version and "version" in inspect.signature(function).parameters:
        given.append(version)
    result = function(*given)
    for place, value in zip(places, result if isinstance(result, (list, tuple)) else [result], strict=False):
        _store(value, place)
    return int(_SUCCESS)


def _fill_processes(function: Callable[..., Any], arguments: list[Any]) -> int:
    handle, count, array = arguments
    found = function(handle)
    room, count.value = count.value, len(found)
    if found and (array is None or room < len(found)):
        return int(_TOO_SMALL)
    for place, process in zip(array or (), found, strict=False):
        for field, *_ in place._fields_:
            value = getattr(process, field, 0)
            setattr(place, field, NVML_VALUE_NOT_AVAILABLE_ulonglong.value if value is None else value)
    return int(_SUCCESS)


def _fill_values(function: Callable[..., Any], arguments: list[Any]) -> int:
    handle, count, array = arguments
    for place, value in zip(array, function(handle, [array[n].fieldId for n in range(count)]), strict=False):
        ctypes.pointer(place)[0] = value
    return int(_SUCCESS)


def _fill_temperature(function: Callable[..., Any], arguments: list[Any]) -> int:
    handle, structure = arguments
    structure.temperature = function(handle, structure.sensorType, structure.version)
    return int(_SUCCESS)


def _plain(argument: Any) -> Any:
    """Return the Python value of a C argument: a number's value, or the object that ``byref`` refers to."""
    if isinstance(argument, _REFERENCE):
        referred: Any = argument
        return referred._obj
    simple = isinstance(argument, ctypes._SimpleCData)
    return argument.value if simple else argument


def _store(value: Any, place: Any) -> None:
    if isinstance(place, ctypes.Array):
        place.value = str(value).encode()
    elif isinstance(place, (ctypes.Structure, ctypes.Union)) and isinstance(
        value, (ctypes.Structure, ctypes.Union)
    ):
        ctypes.memmove(
            ctypes.byref(place), ctypes.byref(value), min(ctypes.sizeof(place), ctypes.sizeof(value))
        )
    else:
        place.value = value
