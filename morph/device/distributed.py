"""Process groups: a request for nccl gets the backend's own collectives."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from morph.backends import Backend, resolve
from morph.base.journal import Journal
from morph.device.words import NCCL, Words
from morph.finders.finder import on_import

C10D = "torch.distributed.distributed_c10d"


def install(words: Words, journal: Journal) -> None:
    """Make torch.distributed use the backend's collectives for nccl."""
    package = "torch.distributed"
    on_import(package, lambda module: _serve_nccl(module, words, journal), journal, package)


def _serve_nccl(package: ModuleType, words: Words, journal: Journal) -> None:
    """Serve the names to code outside torch, which reads them from the package, not from its submodule."""
    if not package.is_available():
        return
    truth = package.is_nccl_available
    available = words.views.predicate(truth, lambda: package.is_backend_available(NCCL))
    journal.set_attribute(package, "is_nccl_available", available)
    group = _group_class(words.backend)
    if group is not None:  # a torch built for CUDA has its own, which makes no group on this device
        journal.set_attribute(package, "ProcessGroupNCCL", group)


def _group_class(backend: Backend) -> Any:
    """Return the class whose Options have nccl's fields; None if this build of the vendor lacks it."""
    name = backend.table.facts.process_group
    try:
        return resolve(name) if name else None
    except AttributeError:
        return None
