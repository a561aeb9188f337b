"""NVML's structures and types, defined by data: the fields of each, its print format, its initial values."""

from __future__ import annotations

import ast
import ctypes
import re
from ctypes import POINTER, Structure
from typing import Any

from .constants import CONSTANTS, read


class nvmlFriendlyObject:
    """A structure's fields as attributes that accept values of any type."""

    def __init__(self, dictionary: dict[str, Any]) -> None:
        for name, value in dictionary.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return str(self.__dict__)


def nvmlStructToFriendlyObject(struct: Any) -> nvmlFriendlyObject:
    """Return a structure's fields as an object, bytes as text."""
    fields = {field[0]: getattr(struct, field[0]) for field in struct._fields_}
    return nvmlFriendlyObject({name: _text(value) for name, value in fields.items()})


def nvmlFriendlyObjectToStruct(obj: nvmlFriendlyObject, model: Any) -> Any:
    """Return ``model`` with its fields set to those of ``obj``, text as bytes."""
    for field in model._fields_:
        value = getattr(obj, field[0])
        setattr(model, field[0], value.encode() if isinstance(value, str) else value)
    return model


class _PrintableStructure(Structure):
    """A structure that prints its fields, and whose bytes are text.

    ``_fmt_`` maps a field's name to its format, and ``"<default>"`` to that of all others.
    """

    _fmt_: dict[str, str] = {}

    def __str__(self) -> str:
        default = self._fmt_.get("<default>", "%s")
        names = [field[0] for field in self._fields_]
        shown = (f"{name}: {self._fmt_.get(name, default) % getattr(self, name)}" for name in names)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getattribute__(self, name: str) -> Any:
        return _text(super().__getattribute__(name))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.encode() if isinstance(value, str) else value)


TYPES: dict[str, Any] = {
    name: vars(ctypes)[name]
    for name in (
        "Structure",
        "Union",
        "c_char",
        "c_char_p",
        "c_double",
        "c_int",
        "c_longlong",
        "c_ubyte",
        "c_uint",
    )
    + ("c_ulonglong", "c_ushort", "c_void_p")
} | {"_PrintableStructure": _PrintableStructure}
"""The types of fields by name, to which the structures are added."""

_ARRAY = re.compile(r"(.+)\*(\d+)")
_POINTER = re.compile(r"POINTER\((.+)\)")


def resolved(expression: str) -> Any:
    """Return the value of a default in the interface: a constant, a new structure, or a literal."""
    if expression in CONSTANTS:
        return CONSTANTS[expression]
    if expression.endswith("()"):
        return TYPES[expression.removesuffix("()")]()
    return ast.literal_eval(expression)


def _type(text: str) -> Any:
    if found := _ARRAY.fullmatch(text):
        return _type(found[1]) * int(found[2])
    if found := _POINTER.fullmatch(text):
        return POINTER(_type(found[1]))
    return TYPES[text]


def _field(name: str, text: str) -> tuple[Any, ...]:
    kind, _, bits = text.partition(":")
    return (name, _type(kind), int(bits)) if bits else (name, _type(kind))


def _constructor(name: str, parameters: dict[str, str | None], sets: dict[str, str]) -> Any:
    """Return an ``__init__`` that sets fields to constants or to its arguments."""
    names = list(parameters)

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        if len(arguments) > len(names) or not named.keys() <= parameters.keys():
            raise TypeError(f"{name}() takes {', '.join(names) or 'no arguments'}")
        given = {**dict(zip(names, arguments, strict=False)), **named}
        for field, expression in sets.items():
            source = expression if expression not in parameters else parameters[expression]
            value = given[expression] if expression in given else resolved(str(source))
            setattr(self, field, value)

    return __init__


def _structure(name: str, description: dict[str, Any]) -> Any:
    base = TYPES[description["base"]]
    fields = [_field(*each) for each in description["fields"].items()]
    members: dict[str, Any] = {"_fields_": fields, "__module__": __package__}
    if "format" in description:
        members["_fmt_"] = description["format"]
    if "constructor" in description:
        members["__init__"] = _constructor(name, **description["constructor"])
    return type(base)(name, (base,), members)


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _define() -> dict[str, Any]:
    known = set(TYPES)
    waiting = dict(read("types"))
    for name, description in read("structures").items():
        _define_types(waiting)
        TYPES[name] = _structure(name, description)
    _define_types(waiting)
    return {name: kind for name, kind in TYPES.items() if name not in known}


def _define_types(waiting: dict[str, str]) -> None:
    """Define the type names whose types are known by now."""
    for name, text in list(waiting.items()):
        inner = _POINTER.fullmatch(text)
        if (inner[1] if inner else text) in TYPES:
            TYPES[name] = _type(waiting.pop(name))


STRUCTURES = _define()
"""The structures and the other type names, by name."""
