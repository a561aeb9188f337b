"""Modules of kernels in this process: what they have by which name, and launches."""

from __future__ import annotations

import _ctypes
import atexit
import contextlib
import ctypes
import dataclasses
import functools
import itertools
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p

from morph.base import native, private
from morph.kernels.extensions import toolkit

_serial = itertools.count()


class _Entry(ctypes.Structure):
    """A ``morph_cuda::Kernel``."""


_Entry._fields_ = [
    ("expression", c_char_p),
    ("address", c_void_p),
    ("launcher", c_void_p),
    ("bytes", c_size_t),
    ("count", c_size_t),
    ("sizes", POINTER(c_size_t)),
    ("offsets", POINTER(c_size_t)),
    ("next", POINTER(_Entry)),
]


class _Symbol(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("base", c_void_p), ("name", c_char_p), ("address", c_void_p)]


class _ElfSymbol(ctypes.Structure):
    _fields_ = [("name", c_uint), ("info", ctypes.c_ubyte * 4), ("value", c_void_p), ("size", c_size_t)]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel of a loaded module.

    Attributes:
        name: The name that it is found by.
        entry: The address of its ``morph_cuda::Kernel``.
        parameters: Offset and size of each.
    """

    name: str
    entry: int
    parameters: tuple[tuple[int, int], ...]

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
        stream: int | None,
        arguments: int | None,
        *,
        is_cooperative: bool = False,
    ) -> tuple[int, str]:
        """Run it, as ``<<<>>>`` does; return the code of an error, or 0, and its text.

        Args:
            grid: How many blocks there are.
            block: How many threads each has.
            shared: Bytes of dynamic shared memory.
            stream: The handle of a stream.
            arguments: The address of the arguments' addresses.
            is_cooperative: Whether its blocks may wait for each other.
        """
        words = c_char_p()
        code = runtime().morph_launch(
            c_void_p(self.entry),
            (c_uint * 3)(*grid),
            (c_uint * 3)(*block),
            c_size_t(shared),
            c_void_p(stream),
            c_void_p(arguments),
            c_int(is_cooperative),
            ctypes.byref(words),
        )
        return code, (words.value or b"").decode(errors="replace")


class Module:
    """A shared object of kernels, loaded for itself: its variables are its own.

    Attributes:
        kernels: Its kernels by their names.
    """

    def __init__(self, path: pathlib.Path) -> None:
        runtime()
        self._library = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self._entries = list(self._listed())
        self.kernels = {name: _kernel(name, each) for name, each in self._named() if each.launcher}

    def lowered(self, expressions: Sequence[str]) -> dict[str, str]:
        """Return the names that expressions have, by the expressions."""
        names = {(each.expression or b"").decode(): name for name, each in self._named()}
        return {expression: names[expression] for expression in expressions}

    def variable(self, name: str) -> tuple[int, int] | None:
        """Return the address of a variable and its bytes, or None if there is none of this name."""
        found = next((each for known, each in self._named() if known == name and not each.launcher), None)
        if found is not None:
            return found.address, found.bytes
        try:
            address = ctypes.addressof(ctypes.c_byte.in_dll(self._library, name))
        except ValueError:
            return None
        return (address, size) if (size := _size(address)) is not None else None

    def close(self) -> None:
        """Unload it."""
        _ctypes.dlclose(self._library._handle)

    def _listed(self) -> Iterator[_Entry]:
        first = self._library.morph_kernels
        first.restype = POINTER(_Entry)
        entry = first()
        while entry:
            yield entry.contents
            entry = entry.contents.next

    def _named(self) -> Iterator[tuple[str, _Entry]]:
        for each in self._entries:
            if name := _symbol(each.address) or (each.expression or b"").decode():
                yield name, each


@contextlib.contextmanager
def opened(path: pathlib.Path) -> Iterator[Module]:
    """Load a module for a while."""
    module = Module(path)
    try:
        yield module
    finally:
        module.close()


def load(library: bytes) -> Module:
    """Load the shared object of an image, each time anew."""
    path = _folder() / f"module{next(_serial)}.so"  # the loader takes a path that it knows for the same
    path.write_bytes(library)
    return Module(path)


@functools.cache
def _folder() -> pathlib.Path:
    """Return a folder that lasts as long as the process: a sanitizer reads the lines of what is loaded."""
    folder = tempfile.mkdtemp(prefix="morph-modules-", dir=private.temporary_place())
    atexit.register(_remove, folder, os.getpid())
    return pathlib.Path(folder)


def _remove(folder: str, owner: int) -> None:
    if owner == os.getpid():  # and no fork of it
        shutil.rmtree(folder, ignore_errors=True)


def _kernel(name: str, entry: _Entry) -> Kernel:
    parameters = tuple((entry.offsets[i], entry.sizes[i]) for i in range(entry.count))
    return Kernel(name, ctypes.addressof(entry), parameters)


@functools.cache
def runtime() -> ctypes.CDLL:
    """Return the toolkit's library, which all that is compiled is linked to."""
    path = str(native.provide(toolkit.assemble().library()))
    return ctypes.CDLL(
        path, handle=_ctypes.dlopen(path, os.RTLD_NOW)
    )  # else it is served as CUDA's by its name


def _symbol(address: int) -> str | None:
    """Return the exported name at an address."""
    found = _Symbol()
    ctypes.CDLL(None).dladdr(c_void_p(address), ctypes.byref(found))
    return found.name.decode() if found.name and found.address == address else None


def _size(address: int) -> int | None:
    """Return how many bytes a variable has, or None if a function is there."""
    found, symbol = _Symbol(), POINTER(_ElfSymbol)()
    ctypes.CDLL(None).dladdr1(c_void_p(address), ctypes.byref(found), ctypes.byref(symbol), 1)
    is_object = symbol and symbol.contents.info[0] & 15 == 1  # STT_OBJECT
    return symbol.contents.size if is_object else None
