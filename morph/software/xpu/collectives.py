"""XCCL on the simulated device: gloo, on the memory that host and device share."""

from __future__ import annotations

import functools
from datetime import timedelta
from types import ModuleType
from typing import Any

from morph.base.journal import Journal
from morph.finders.finder import on_import
from morph.software import distributed
from morph.software.machine import library

PACKAGE = "torch.distributed"
C10D = "torch.distributed.distributed_c10d"


class ProcessGroupXCCL(distributed.ProcessGroup):
    """The class that torch makes its XCCL process groups of."""

    class Options(distributed.ProcessGroup.Options):
        """Options of a process group, of which the timeout alone makes a difference here."""

        _timeout = timedelta(minutes=30)

    def __new__(cls, store: Any, rank: int, size: int, options: Options) -> Any:
        """Make a backend of the name xccl."""
        _serve_operators()
        return distributed.create(store, rank, size, options._timeout)


@functools.cache
def _serve_operators() -> None:
    library("collective").serve_xpu()


def register(journal: Journal) -> None:
    """Make torch.distributed find XCCL.

    Args:
        journal: Records every rebinding.
    """
    on_import(C10D, lambda module: _provide(module, journal), journal)
    on_import(PACKAGE, lambda module: _show(module, journal), journal)


def _provide(module: ModuleType, journal: Journal) -> None:
    if module.is_gloo_available():
        journal.set_attribute(module, "_XCCL_AVAILABLE", True)
        _show(module, journal)


def _show(module: ModuleType, journal: Journal) -> None:
    journal.set_attribute(module, "ProcessGroupXCCL", ProcessGroupXCCL)


ProcessGroupXCCL.__module__ = C10D
