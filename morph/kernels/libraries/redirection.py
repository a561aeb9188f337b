"""NVIDIA's runtime where a wheel's modules hold it themselves: its functions are sent to the served library.

Such a module is linked with libcudart_static.a, whose runtime would look for NVIDIA's driver by an interface
that is not documented. The names of its functions are in the module's table of symbols, and the first bytes
of each become a jump, in this process alone.
"""

from __future__ import annotations

import _ctypes
import ctypes
import dataclasses
import mmap
import os
import platform
import re
import struct
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from morph.base.errors import MorphError
from morph.base.importing import put_first, take_away
from morph.base.journal import Journal
from morph.finders.finder import find_elsewhere
from morph.finders.packages.importers import is_import

RUNTIME = "libcudart.so.13"
# the modules that hold it
_MODULES = {
    "cupy_backends.cuda.api.runtime",
    "cupy.cuda.cub",
    "cupy.cuda.thrust",
    "cupy.random._generator_api",
}
_REFUSED = {
    "cupy.cuda.jitify": "Jitify has headers of its own in the place of the compiler's; leave jitify=True out"
}
_OLDER = "cudaGetDeviceProperties_v2"  # which CUDA 13 no longer has
_MARK = b"libcudart_static_"
_JUMP = b"\xff\x25\x00\x00\x00\x00"  # jmp *0(%rip), to the address that follows
_SYMBOLS, _FUNCTION = 2, 2  # SHT_SYMTAB, STT_FUNC
_READ, _WRITE, _RUN = 1, 2, 4


class RedirectionError(MorphError, ImportError):
    """A module that holds NVIDIA's runtime, and whose functions cannot be sent elsewhere."""


def install(journal: Journal) -> None:
    """Send the functions of each such module to the served library, from now on, before it is imported.

    Args:
        journal: Records the change.
    """
    finder = Redirections()
    journal.on_undo(lambda: take_away(finder))
    put_first(finder)


@dataclasses.dataclass(frozen=True)  # equal to that of another activation
class Redirections:
    """A finder that finds nothing, and redirects the modules that hold NVIDIA's runtime."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None.

        Raises:
            RedirectionError: If the module is imported and cannot be redirected.
        """
        if fullname not in {*_MODULES, *_REFUSED} or not is_import(sys._getframe(1)):
            return None
        if fullname in _REFUSED:
            raise RedirectionError(f"{fullname}: {_REFUSED[fullname]}")
        spec = find_elsewhere(self, fullname, path, target)
        if spec is not None and spec.origin and holds_runtime(spec.origin):
            redirect(spec.origin)
        return None


def holds_runtime(path: str) -> bool:
    """Return whether a shared object holds NVIDIA's runtime."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_MARK) >= 0


def redirect(path: str) -> int:
    """Load a shared object, and send the functions of its runtime to the served library; return how many.

    Raises:
        RedirectionError: If it is stripped, or the machine is not known.
    """
    if platform.machine() != "x86_64":
        raise RedirectionError(f"{path} holds NVIDIA's runtime, which morph replaces on x86_64 only")
    functions = list(_functions(path))
    if any(name == _OLDER for name, _, _ in functions):
        raise RedirectionError(
            f"{path} holds the runtime of CUDA 12; install the package for CUDA 13 (cupy-cuda13x)"
        )
    handle = _ctypes.dlopen(path, os.RTLD_NOW)
    base = ctypes.c_size_t.from_address(handle).value  # l_addr, the first field of a link_map
    served = ctypes.CDLL(RUNTIME)
    found = 0
    for name, offset, size in functions:
        if size >= len(_JUMP) + 8 and hasattr(served, name):
            target = ctypes.cast(served[_served(name)], ctypes.c_void_p).value or 0
            _write(base + offset, _JUMP + struct.pack("<Q", target))
            found += 1
    if not found:
        raise RedirectionError(f"{path} holds NVIDIA's runtime, and no symbols that tell where")
    return found


def _served(name: str) -> str:
    """Return the name of what serves a function: kernels in such a module were compiled for a GPU."""
    return "morph_refuse_launch" if re.match(r"cuda(?:Launch\w*Kernel|GraphLaunch)", name) else name


def _functions(path: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the offset and the size of each of CUDA's functions that an ELF file holds."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        (sections,) = struct.unpack_from("<Q", content, 40)
        size, count = struct.unpack_from("<HH", content, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", content, sections + i * size) for i in range(count)]
        for _, kind, _, _, start, length, link, _, _, _ in headers:
            if kind == _SYMBOLS:
                names = headers[link][4]
                for name, info, _, _, value, bytes_ in struct.iter_unpack(
                    "<IBBHQQ", content[start : start + length]
                ):
                    if info & 15 == _FUNCTION and content[names + name : names + name + 4] == b"cuda":
                        yield (
                            content[names + name : content.find(b"\0", names + name)].decode(),
                            value,
                            bytes_,
                        )


def _write(address: int, code: bytes) -> None:
    library, page = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE
    start = address // page * page
    length = ctypes.c_size_t(address + len(code) - start)
    for protection in (_READ | _WRITE | _RUN, _READ | _RUN):
        if library.mprotect(ctypes.c_void_p(start), length, protection):
            raise RedirectionError(f"code cannot be changed: {os.strerror(ctypes.get_errno())}")
        if protection & _WRITE:
            ctypes.memmove(address, code, len(code))
