"""Python's functions for those of a served library, by their signatures."""

from __future__ import annotations

import ctypes
import enum
import functools
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from morph.base import toml
from morph.kernels.libraries import numbers

from . import handles

SIMPLE: dict[str, Any] = {
    "int": ctypes.c_int,
    "uint": ctypes.c_uint,
    "size": ctypes.c_size_t,
    "long": ctypes.c_ulonglong,
    "float": ctypes.c_float,
    "kind": ctypes.c_int,
    "attribute": ctypes.c_int,
    "limit": ctypes.c_int,
    "device": ctypes.c_int,
    "name": ctypes.c_char_p,
}


class Block(ctypes.Structure):
    """A handle for another process, which is passed by value."""

    _fields_ = [("reserved", ctypes.c_ubyte * handles.BYTES)]


class Library:
    """The functions of one library.

    Args:
        file: Its file name, ``"libcudart.so.13"``.
        section: Its section in ``signatures.toml``.
        code: The enumeration of its error codes.
        types: What results are made of, by the words of the signatures.
        module: The name of the module that has the functions.
    """

    def __init__(
        self, file: str, section: str, code: Any, types: Mapping[str, Callable[..., Any]], module: str
    ) -> None:
        self._file, self._code, self._types, self._module = file, code, types, module
        self._signatures: dict[str, str] = _signatures()[section]

    @functools.cached_property
    def library(self) -> ctypes.CDLL:
        """The library, loaded at the first call."""
        return ctypes.CDLL(self._file)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by name."""
        return {name: self._function(name, signature.split()) for name, signature in self._signatures.items()}

    def _function(self, name: str, words: list[str]) -> Callable[..., Any]:
        def call(*arguments: Any) -> tuple[Any, ...]:
            given = [word for word in words if not word.startswith("*")]
            if len(arguments) != len(given):
                raise TypeError(
                    f"{name}() takes {len(given)} arguments ({', '.join(given)}), not {len(arguments)}"
                )
            return self._call(name, words, list(arguments))

        call.__name__ = call.__qualname__ = name
        call.__code__ = call.__code__.replace(co_name=name)  # its own, as tracebacks and profiles tell it
        call.__module__ = self._module
        return call

    def _call(self, name: str, words: list[str], rest: list[Any]) -> tuple[Any, ...]:
        room = next((value for value, word in zip(rest, _given(words), strict=True) if word == "int"), 0)
        places = {index: self._place(word[1:], room) for index, word in enumerate(words) if word[0] == "*"}
        passed = [
            ctypes.byref(places[index]) if index in places else self._passed(word, rest.pop(0))
            for index, word in enumerate(words)
        ]
        code = getattr(self.library, _exported(self._file, name))(*passed)
        results = [None if code else self._result(words[i][1:], place) for i, place in places.items()]
        return (self._code(code), *results)

    def _place(self, word: str, room: int) -> Any:
        if word == "text":
            return ctypes.create_string_buffer(room)
        if word == "properties":
            return ctypes.create_string_buffer(numbers.layout(self._file)["size"])
        if word == "attributes":
            return (ctypes.c_uint64 * 16)()
        if word == "uuid":
            return ctypes.create_string_buffer(16)
        return Block() if word.endswith("_handle") else SIMPLE.get(word, ctypes.c_uint64)()

    def _passed(self, word: str, value: Any) -> Any:
        if word == "words":
            return ctypes.c_char_p(value)
        if word == "texts":
            return (ctypes.c_char_p * len(value or ()))(*(value or ()))
        if word == "none":
            return None
        if word == "handle":
            return ctypes.c_void_p(value.getPtr())
        if word in SIMPLE:
            return SIMPLE[word](int(value))
        if word.endswith("_handle"):
            return Block.from_buffer_copy(value.reserved)
        return ctypes.c_void_p(handles.address(value))

    def _result(self, word: str, place: Any) -> Any:
        if word == "text":
            return place.raw
        make = self._types.get(word)
        if make is not None:
            return make(
                place.value if hasattr(place, "value") and word not in ("uuid", "properties") else place
            )
        return place.value


def enumeration(name: str, module: str) -> Any:
    """Make an enumeration of CUDA's."""
    return enum.IntEnum(name, numbers.enumerators(name), module=module)


def _given(words: list[str]) -> list[str]:
    return [word for word in words if not word.startswith("*")]


def _exported(file: str, name: str) -> str:
    """Return the symbol that a name of the driver's is in a current release of CUDA."""
    second = f"{name}_v2"
    if file.startswith("libcuda.") and second in _driver_names() and name not in _UNCHANGED:
        return second
    return name


# their second versions have more parameters
_UNCHANGED = {"cuCtxGetDevice", "cuCtxSynchronize", "cuStreamGetCtx"}


@functools.cache
def _driver_names() -> frozenset[str]:
    from morph.backends.tables import library

    return frozenset(library.load("libcuda").releases["libcuda.so.1"])


@functools.cache
def _signatures() -> dict[str, dict[str, str]]:
    file = pathlib.Path(__file__).with_name("signatures.toml")
    return toml.loads(file.read_text(encoding="utf-8"))
