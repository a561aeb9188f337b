"""Building, loading and binding of the served libraries, each at its first use."""

from __future__ import annotations

import _ctypes
import ctypes
import importlib
import os
import pathlib
import platform
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from morph.backends.tables import library
from morph.backends.tables.library import Library
from morph.base import native
from morph.base.native.library import Unit, together
from morph.kernels.libraries import generation
from morph.kernels.libraries.callbacks import PerThread

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.kernels.libraries.callbacks import Callbacks

FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w")
NATIVE = pathlib.Path(__file__).parent / "native"
DEVICE = ("machine.cpp", "memory.cpp", "peers.cpp", "queues.cpp", "sharing.cpp", "state.cpp", "transfers.cpp")
DRIVER = ("contexts.cpp", "driver.cpp", "driver_memory.cpp", "pointers.cpp")
# the files of each library that has functions of its own, and the module of those written in Python
SOURCES = {"libcudart": (*DEVICE, "runtime.cpp"), "libcuda": (*DEVICE, *DRIVER)}
MODULES = {
    "libcudart": "cudart",
    "libcuda": "cuda_driver",
    "libnvrtc": "nvrtc",
    "libnccl": "nccl.functions",
    "libnvidia-ml": "nvml",
    "libnvToolsExt": "nvtx",
    **dict.fromkeys(("libcublas", "libcufft", "libcurand", "libcusparse", "libcusolver"), "computing"),
}


_state: list[int] = []  # the address of what libcudart and libcuda know together (native/state.h)
_kept: list[Loaded] = []  # a program may call what it has looked up, also after the activation


class Loaded:
    """One served library in this process.

    Attributes:
        table: Its table.
        file: Its file name, ``"libcudart.so.12"``.
        path: Its path.
        handle: What ``dlopen`` gave.
    """

    def __init__(self, table: Library, file: str, backend: Backend) -> None:
        self.table, self.file = table, file
        self._backend = backend
        self.path = str(native.provide(described(table, file, backend.name)))
        self.handle: int = _ctypes.dlopen(self.path, os.RTLD_NOW)
        self._own = ctypes.CDLL(self.path, handle=self.handle)
        self._bound = False
        self._reasons: PerThread[dict[int, str]] = PerThread(dict)  # for errors, by code
        self._binding = threading.RLock()
        _kept.append(self)

    def bind(self) -> None:
        """Put what serves each name into its slot, unless it is there."""
        with self._binding:
            if not self._bound:
                self._bound = True
                self._bind()

    def reason(self, code: int) -> str:
        """Return what is known of this thread's last call that gave an error code."""
        if code == self.table.refusal and (refused := self._function("morph_refused", ctypes.c_char_p)()):
            return str(refused.decode())
        return self._reasons().get(code, "") if code else ""

    def say(self, code: int, words: str) -> None:
        """Keep the reason for an error code of this thread."""
        self._reasons()[code] = words
        if code == self.table.refusal:
            self._function("morph_forget", None)()

    def noted(self, code: int) -> int:
        """Keep an error code of this thread for the functions that ask for the last one, and return it."""
        return int(self._function("morph_noted")(code))

    def variable(self, address: int, size: int, device: int) -> None:
        """Tell of a variable of a module that is loaded, or with no bytes that it is gone."""
        self._function("morph_variable", None)(ctypes.c_void_p(address), ctypes.c_size_t(size), device)

    def address(self, name: str) -> int | None:
        """Return the address of an exported name."""
        return ctypes.cast(getattr(self._own, name), ctypes.c_void_p).value

    def _bind(self) -> None:
        module: Any = importlib.import_module(f"morph.kernels.libraries.{MODULES[self.table.name]}")
        self._callbacks: Callbacks = module.functions(self, self._backend)  # they live as long as the library
        if self._is_software and self.table.name in SOURCES:
            self._bind_machine()
        for name in self.table.releases[self.file]:
            entry = self.table.entry_on(self._backend.name, name)
            if entry.is_served:
                self._bind_name(name, entry.status)

    @property
    def _is_software(self) -> bool:
        from morph.software.machine import is_started

        return is_started()

    def _bind_name(self, name: str, status: str) -> None:
        address = next(filter(None, map(self._address, self.table.spellings(name))), None)
        if address is None and status == "noop":
            address = ctypes.cast(self._own.morph_nothing, ctypes.c_void_p).value
        if address is None and not self._is_software:  # the vendor's release lacks it
            return
        assert address is not None, f"{name} of {self.file} is {status} in its table, and nothing serves it"
        self._function("morph_bind")(name.encode(), ctypes.c_void_p(address))

    def _address(self, name: str) -> int | None:
        """Return the address of what serves a name: of Python's function, else of the library's own."""
        address = self._callbacks.address(name)
        if address is None and (self._is_software or self.table.is_everywhere(name)):
            address = self._function("morph_own", ctypes.c_void_p)(name.encode())
        return address

    def _bind_machine(self) -> None:
        from morph.software import distributed
        from morph.software.machine import started

        machine = started()
        assert machine.count >= 0  # what the environment says now
        for member, address in machine.native.interface().items():
            self._function("morph_machine")(member.encode(), ctypes.c_void_p(address))
        state = self._function("morph_state", ctypes.c_void_p)(ctypes.c_void_p(next(iter(_state), None)))
        _state[:] = [state]
        self._asked = {
            b"settle": ctypes.CFUNCTYPE(None)(distributed.settle),
            b"reaches": ctypes.CFUNCTYPE(*[ctypes.c_int] * 3)(machine.reaches),
        }
        for name, function in self._asked.items():
            self._function("morph_machine")(name, ctypes.cast(function, ctypes.c_void_p))

    def _function(self, name: str, result: Any = ctypes.c_int) -> Any:
        function = getattr(self._own, name)
        function.restype = result
        return function


def path_of(file: str) -> str:
    """Return the path of a served library that is loaded in this process."""
    return next(each.path for each in reversed(_kept) if each.file == file)


def every(
    backend: str, stems: Sequence[str] = tuple(MODULES), machine: str = platform.machine()
) -> list[native.Library]:
    """Return the served libraries, each of its releases.

    Args:
        backend: The backend that they serve.
        stems: The names of those to return, ``"libcudart"``.
        machine: What they are built for, as ``platform.machine()`` calls it.
    """
    tables = map(library.load, stems)
    return [described(table, file, backend, machine) for table in tables for file in table.releases]


def described(table: Library, file: str, backend: str, machine: str = platform.machine()) -> native.Library:
    """Return what a served library is built from.

    Args:
        table: Its table.
        file: Its file name, ``"libcudart.so.12"``.
        backend: The backend that it serves.
        machine: What it is built for, as ``platform.machine()`` calls it.
    """
    refusals = {
        name: f"{name} of {file} is not served: {entry.note}"
        for name in table.releases[file]
        if (entry := table.entry_on(backend, name)).status != "absent"
    }
    names = generation.source(table.name, table.refusal, refusals)
    units = [Unit("names", f'#include "{NATIVE / "slots.cpp"}"\n{names}')]
    if table.name in SOURCES:
        units.append(together("functions", [NATIVE / each for each in SOURCES[table.name]]))
    identity = [machine, *FLAGS, table.name]
    place = pathlib.Path("shared", native.digest(identity, [NATIVE], [Unit("names", names)]), file)
    options = (*FLAGS, f"-I{NATIVE}")
    links = ("-s", "-Wl,--no-undefined", f"-Wl,-soname,{file}")
    return native.Library(file, place, lambda: native.Recipe(place.parent.name, tuple(units), options, links))
