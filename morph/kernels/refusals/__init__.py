"""Packages that compile CUDA kernels of their own: refused by name, with the way out."""

from __future__ import annotations

import dataclasses
import glob
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from morph.backends import Backend
from morph.base.importing import put_first, take_away
from morph.base.journal import Journal
from morph.finders.finder import find_elsewhere, on_import
from morph.finders.packages.importers import is_import
from morph.kernels import numba
from morph.kernels.refusals import drivers
from morph.kernels.refusals.binaries import explain
from morph.kernels.refusals.table import packages

__all__ = ["Refusals", "explain", "install"]

NUMBA = "numba.cuda"
TRITON = "triton"
_NAMES = frozenset({"cupy", "cupyx", "pycuda", TRITON})
_SERVED = frozenset({"cupy", "cupyx"})  # on the software device
_NUMBAS_DRIVER = "numba.cuda.cudadrv.driver"


def install(backend: Backend, journal: Journal) -> None:
    """Refuse the packages from now on, and launches in triton that cannot work.

    Args:
        backend: The backend that serves CUDA's names.
        journal: Records every change.
    """
    names = _NAMES - _SERVED if backend.table.facts.software else _NAMES
    finder = Refusals(backend.name, names)
    journal.on_undo(lambda: take_away(finder))
    put_first(finder)
    if backend.table.facts.software and numba.is_served():
        numba.install(journal)
    else:
        on_import(_NUMBAS_DRIVER, lambda module: _disable(module, journal), journal)
    drivers.install(backend, journal)


@dataclasses.dataclass(frozen=True)
class Refusals:
    """A finder that finds nothing, and refuses the import of a package that cannot work.

    ``importlib.util.find_spec`` says what is installed, as without morph. A module of the same name that is
    not the package, such as a program's own stand-in, is imported. An import of triton, which is only refused
    where it is not installed, says which one to install.

    Args:
        backend: The name of the backend.
        names: The packages.
    """

    backend: str
    names: frozenset[str]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None.

        Raises:
            ImportError: If the package is imported; a ``ModuleNotFoundError`` if it is not installed.
        """
        if fullname not in self.names or not is_import(sys._getframe(1)):
            return None
        spec = find_elsewhere(self, fullname, path, target)
        if fullname == TRITON:
            says, compiled = drivers.advice(self.backend), ""
        else:
            says, compiled = packages()[fullname]["says"], packages()[fullname]["compiled"]
        if spec is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}: {says}", name=fullname)
        if compiled and _is_compiled(spec, compiled):
            raise ImportError(f"{fullname} is installed but cannot be used: {says}", name=fullname)
        return None


def _is_compiled(spec: ModuleSpec, compiled: str) -> bool:
    """Return whether ``spec`` is of the real package, not of another module of this name."""
    folders = spec.submodule_search_locations or ()
    return any(glob.glob(os.path.join(glob.escape(folder), compiled)) for folder in folders)


def _disable(module: ModuleType, journal: Journal) -> None:
    """Let numba say the reason wherever it needs CUDA's driver; its simulator stays as it is."""
    driver = getattr(module, "driver", None)
    if module.__name__ != _NUMBAS_DRIVER or not hasattr(driver, "initialization_error"):
        return
    # with both set, Driver.__getattr__ raises a CudaSupportError with this text, and looks for no driver
    journal.set_attribute(driver, "is_initialized", True)
    journal.set_attribute(driver, "initialization_error", packages()[NUMBA]["says"])
