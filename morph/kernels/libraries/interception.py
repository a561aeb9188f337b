"""The ways by which programs find CUDA's libraries: ``ctypes.CDLL``, ``find_library``, and their names."""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from morph.base.errors import MorphError
from morph.base.native import BuildError
from morph.finders import callers
from morph.finders.finder import on_import
from morph.finders.packages import decisions
from morph.finders.scope import TORCH

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.backends.tables.library import Library
    from morph.base.journal import Journal
    from morph.kernels.libraries.loading import Loaded

DRIVER, RUNTIME = "libcuda.so.1", "libcudart.so"
# they answer without the driver, so that one that loads is a real one that works
INDEPENDENT = "libcuda", "libnvidia-ml", "libnvToolsExt"
STEMS = (
    *("libcudart", "libcuda", "libnvrtc", "libnccl", "libnvidia-ml", "libnvToolsExt"),
    *("libcublas", "libcufft", "libcurand", "libcusparse", "libcusolver"),
)


_waiting: list[Interception] = []  # for the first use of a device


class MissingFunctionError(MorphError, AttributeError):
    """A name that a served library does not have."""


class Interception:
    """Serves the libraries of one activation.

    Args:
        backend: The backend that they serve.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._loaded: dict[str, Loaded] = {}
        self._by_handle: dict[int, Loaded] = {}
        self._real: dict[str, bool] = {}
        self._loading = threading.RLock()

    def install(self, journal: Journal) -> None:
        """Stand where ctypes opens libraries and looks names up; ``ctypes.CDLL`` stays what it is."""
        journal.set_attribute(ctypes, "_dlopen", self._opener(vars(ctypes)["_dlopen"]))
        journal.set_attribute(ctypes.CDLL, "__getitem__", self._getter(ctypes.CDLL.__getitem__))
        on_import("ctypes.util", lambda module: self._help_to_find(module, journal), journal)
        journal.on_undo(decisions.SERVED_LIBRARIES.clear)
        if self._backend.table.facts.software:
            self._load_with_device(journal)

    def load(self, file: str) -> Loaded:
        """Return a served library, ready for calls.

        Args:
            file: Its file name, ``"libcudart.so.12"``.

        Raises:
            BuildError: If it cannot be built.
        """
        library = self._present(file)
        library.bind()
        return library

    def _present(self, file: str) -> Loaded:
        from morph.kernels.libraries.loading import Loaded

        with self._loading:
            if file not in self._loaded:
                made = Loaded(_table(file), file, self._backend)
                self._loaded[file] = self._by_handle[made.handle] = made
                decisions.SERVED_LIBRARIES.add(file)
            return self._loaded[file]

    def _load_with_device(self, journal: Journal) -> None:
        """Load CUDA's runtime with the first use of a device: programs look for it in ``/proc/self/maps``."""
        from morph.software.machine import started

        native = started().native
        if native.is_initialized():
            self._load_runtime()
        else:
            _waiting.append(self)
            journal.on_undo(_waiting.clear)
            native.when_initialized(_load_runtime)

    def _load_runtime(self) -> None:
        file = self.served(RUNTIME)
        if file is not None:
            with contextlib.suppress(BuildError):  # said when a program asks for it
                self._present(file)

    def served(self, name: str) -> str | None:
        """Return the file name of the served library that a name means, or None if it gets what is there."""
        file = os.path.basename(name)
        if not file.startswith(STEMS) or ".so" not in file:
            return None
        table = _table(file)
        meant = table.file_of(_with_torchs_version(file, table)) if table else None
        if meant is None or table is None or not self._sees_cuda():
            return None
        return None if self._is_real(table.name, name) else meant

    def _opener(self, real: Callable[..., int]) -> Callable[..., int]:
        def open_library(name: Any, *mode: Any) -> int:
            served = None if name is None else self.served(os.fsdecode(name))
            if served is None:
                return real(name, *mode)
            try:
                return self.load(served).handle
            except BuildError as error:
                raise OSError(f"{served}: morph serves it, and cannot build it here: {error}") from None

        return open_library

    def _getter(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def get(library: ctypes.CDLL, name: Any) -> Any:
            try:
                return real(library, name)
            except AttributeError:
                served = self._by_handle.get(library._handle)
                if served is None:
                    raise
                raise MissingFunctionError(self._why_missing(served, str(name))) from None

        return get

    def _why_missing(self, library: Loaded, name: str) -> str:
        where = f"{library.file}: {name} does not exist on backend {self._backend.name!r}"
        if name not in library.table.releases[library.file]:
            return f"{where}: this release has no such name"
        return f"{where}: {library.table.entry(name).note}"

    def _help_to_find(self, module: ModuleType, journal: Journal) -> None:
        real = module.find_library

        def find_library(name: str) -> str | None:
            return self.served(f"lib{name}.so") or real(name)

        journal.set_attribute(module, "find_library", find_library)

    def _is_real(self, stem: str, name: str) -> bool:
        """Return whether a real library loads and has the driver that it needs."""
        if stem not in INDEPENDENT:
            return self._loads(DRIVER)
        return self._loads(DRIVER if stem == "libcuda" else name)

    def _loads(self, name: str) -> bool:
        if name not in self._real:
            self._real[name] = name not in self._loaded and _loads(name)
        return self._real[name]

    def _sees_cuda(self) -> bool:
        """Return whether the caller sees CUDA: on a vendor's device torch and the vendor's friends do not."""
        facts = self._backend.table.facts
        if facts.software:
            return True
        package = callers.caller(_outside(sys._getframe())).partition(".")[0]
        return package not in {facts.vendor, *facts.native, *TORCH}


def _with_torchs_version(file: str, table: Library) -> str:
    """Return the file name with the version that this torch is for, where there is one and none is named."""
    import torch

    major = (torch.version.cuda or "").partition(".")[0]
    return str(table.facts.get("majors", {}).get(major, file)) if file == f"{table.name}.so" else file


def _load_runtime() -> None:
    """Load CUDA's runtime; the device keeps this function for good, and so no activation."""
    for each in _waiting:
        each._load_runtime()


def _outside(frame: Any) -> Any:
    while frame is not None and callers.module_of(frame).startswith("morph.kernels.libraries"):
        frame = frame.f_back
    return frame


def _table(file: str) -> Any:
    from morph.backends.tables import library

    stem = file.partition(".so")[0]
    return library.load(stem) if stem in STEMS else None


def _loads(name: str) -> bool:
    try:
        _ctypes.dlopen(name, os.RTLD_LAZY)
    except OSError:
        return False
    return True
