"""NVML's functions that no platform supports: they exist with their signatures, and raise an error."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from morph.backends.tables.package import load

from .constants import read
from .errors import fail
from .library import index_of, source
from .structures import resolved

_HANDLES = ("handle", "device", "device1", "device2")


def declared(name: str) -> Callable[..., Any]:
    """Return the function ``name``, which checks its arguments and raises ``NVMLError_NotSupported``."""
    signature = _signature(FUNCTIONS[name])

    def function(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named)
        source()
        for parameter in _HANDLES:
            if parameter in given.arguments:
                index_of(given.arguments[parameter])
        row = load("pynvml").row(f"pynvml.{name}")
        fail("NOT_SUPPORTED", f"{name}: {row.note}" if row else name)

    function.__name__ = function.__qualname__ = name
    function.__module__ = str(__package__)
    function.__doc__ = "Raise ``NVMLError_NotSupported``; its note says why."
    vars(function)["__signature__"] = signature
    return function


def _signature(text: str) -> Signature:
    parameters = (each.strip().partition("=") for each in text.split(",") if each.strip())
    return Signature([_parameter(name, default) for name, _, default in parameters])


def _parameter(name: str, default: str) -> Parameter:
    value = resolved(default) if default else Parameter.empty
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value)


FUNCTIONS: dict[str, str] = read("functions")
"""The parameters of each of NVML's functions."""
