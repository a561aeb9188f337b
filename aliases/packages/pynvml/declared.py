"""NVML's functions by their recorded signatures; those that no platform supports raise an error."""

from __future__ import annotations

from collections.abc import Callable
from inspect import BoundArguments, Parameter, Signature
from typing import Any, NoReturn

from morph.backends.tables.package import load

from .constants import read
from .errors import fail
from .library import index_of, source
from .structures import resolved

_HANDLES = ("handle", "device", "device1", "device2")


def declared(name: str) -> Callable[..., Any]:
    """Return the function ``name``, which checks its arguments and raises ``NVMLError_NotSupported``."""

    def refuse(given: BoundArguments) -> NoReturn:
        source()
        for parameter in _HANDLES:
            if parameter in given.arguments:
                index_of(given.arguments[parameter])
        row = load("pynvml").row(f"pynvml.{name}")
        fail("NOT_SUPPORTED", f"{name}: {row.note}" if row else name)

    return _made(name, "Raise ``NVMLError_NotSupported``; its note says why.", refuse)


def recorded(name: str, text: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function ``name``, which calls ``body`` with its arguments in order."""
    return _made(name, text, lambda given: body(*given.args))


def _made(name: str, text: str, answer: Callable[[BoundArguments], Any]) -> Callable[..., Any]:
    signature = _signature(FUNCTIONS[name])

    def function(*arguments: Any, **named: Any) -> Any:
        return answer(signature.bind(*arguments, **named))

    function.__name__ = function.__qualname__ = name
    function.__module__ = str(__package__)
    function.__doc__ = text
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
