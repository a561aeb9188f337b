"""Vendors' packages, which count as not installed beside the software CUDA device.

torch takes one accelerator in a process: importing torch_npu beside a CUDA device raises a RuntimeError, even
in programs that only ask what there is (DeepSpeed, transformers).
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from morph.backends.tables import table
from morph.base.importing import put_first, take_away
from morph.base.journal import Journal
from morph.finders.callers import module_of
from morph.finders.packages.importers import is_import

PREFIX = "torch_"  # of vendors' packages; the tables are read at the first import of such a name


def place(journal: Journal) -> None:
    """Keep the packages of all vendors that morph has a table for out of the process.

    Args:
        journal: Records it.
    """
    finder = _Exclusion()
    put_first(finder)
    journal.on_undo(lambda: take_away(finder))
    real = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        excluded = _backend(name) and not module_of(sys._getframe(1)).startswith("morph.")
        return None if excluded else real(name, package)

    journal.set_attribute(importlib.util, "find_spec", find_spec)


@dataclasses.dataclass(frozen=True)
class _Exclusion:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None, and refuse an import of a vendor's package."""
        backend = _backend(fullname)
        if backend and is_import(sys._getframe(1)):
            raise ModuleNotFoundError(
                f"No module named {fullname!r} beside the software device: torch takes one accelerator in a "
                f"process; for the vendor's device use --backend {backend}",
                name=fullname,
            )
        return None


def _backend(module: str) -> str | None:
    """Return the backend whose vendor's package a module is, unless that package is in this process."""
    package = module.partition(".")[0]
    if not package.startswith(PREFIX) or package in sys.modules:
        return None
    names = table.backend_names()
    return next((name for name in names if table.facts(name).vendor == package), None)
