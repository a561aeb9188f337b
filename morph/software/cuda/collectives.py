"""RCCL on the simulated device, under NCCL's name: gloo, on the memory that host and device share."""

from __future__ import annotations

from datetime import timedelta
from types import ModuleType
from typing import Any

from morph.finders.finder import on_import
from morph.journal import Journal
from morph.software import distributed

C10D = "torch.distributed.distributed_c10d"


class ProcessGroupNCCL(distributed.ProcessGroup):
    """The class that torch makes its NCCL process groups of."""

    class Options(distributed.ProcessGroup.Options):
        """Options of a process group, of which the timeout alone makes a difference here."""

        _timeout = timedelta(minutes=10)

    def __new__(cls, store: Any, rank: int, size: int, options: Options) -> Any:
        """Makes a backend of the name nccl."""
        return distributed.create(store, rank, size, options._timeout)


def register(journal: Journal) -> None:
    """Has torch.distributed find NCCL.

    Args:
        journal: Records every rebinding.
    """
    on_import(C10D, lambda module: _provide(module, journal), journal)
    on_import("torch.distributed", lambda module: _bind(module, journal), journal)


def _provide(module: ModuleType, journal: Journal) -> None:
    if module.is_gloo_available():
        journal.set_attribute(module, "_NCCL_AVAILABLE", True)
        journal.set_attribute(module, "default_pg_nccl_timeout", ProcessGroupNCCL.Options._timeout)
        _bind(module, journal)


def _bind(module: ModuleType, journal: Journal) -> None:
    journal.set_attribute(module, "ProcessGroupNCCL", ProcessGroupNCCL)


ProcessGroupNCCL.__module__ = C10D
