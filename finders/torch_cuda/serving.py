"""Serves torch.cuda: the proxies, the views, and the members of the vendor's classes."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch
from torch.backends import PropModule

from morph.backends import Backend, cuda_build, resolve
from morph.backends.tables.table import Row, Status
from morph.base.errors import MissingNameError
from morph.base.journal import Journal
from morph.finders.torch_cuda.answers import ROOT, Answers
from morph.finders.torch_cuda.modules import Observer, serve
from morph.finders.torch_cuda.views import Views

PRIVATE = "torch._C"
# served if the backend's table has rows for them
OPTIONAL_ROOTS = ("torch.backends.cuda", "torch.backends.cudnn", "torch.version")


def serve_cuda(backend: Backend, views: Views, journal: Journal, observer: Observer | None = None) -> Answers:
    """Serve ``torch.cuda`` and its submodules from ``backend``'s table.

    Args:
        backend: The active backend.
        views: Decides which callers of a predicate see CUDA.
        journal: Records every rebinding.
        observer: Called with each CUDA name that is looked up.

    Returns:
        The object that serves the names, with its counters.
    """
    own = {root: sys.modules[root] for root in (ROOT, *OPTIONAL_ROOTS)}
    _add_private(backend, journal)
    answers = Answers(backend, views)
    _add_members(backend, answers, journal)
    serve(own[ROOT], answers, journal, observer)
    for root in OPTIONAL_ROOTS:
        has_rows = any(name.startswith(f"{root}.") for name in backend.table.rows)
        if has_rows and not isinstance(own[root], PropModule):  # its flags are members of its class
            serve(own[root], answers, journal, observer)
    # bound before torch.cuda was served: torch's only reference of this kind
    with journal.tolerating("torch.nn.parallel.comm.nccl"):
        journal.set_attribute(torch.nn.parallel.comm, "nccl", sys.modules["torch.cuda.nccl"])
    return answers


def _add_private(backend: Backend, journal: Journal) -> None:
    """Put into torch's C++ module the functions of a CUDA build for which the table has rows."""
    for row in backend.table.rows.values():
        parent, _, name = row.name.rpartition(".")
        if parent == PRIVATE and cuda_build.leaves_to_us(name):
            with journal.tolerating(row.name):
                journal.set_attribute(torch._C, name, resolve(row.adapter.replace(":", ".")))


def _add_members(backend: Backend, answers: Answers, journal: Journal) -> None:
    """Add the members of CUDA's classes and flag modules to the vendor's."""
    for row in backend.table.rows.values():
        with journal.tolerating(row.name):
            _add_member(row, backend, answers, journal)


def _add_member(row: Row, backend: Backend, answers: Answers, journal: Journal) -> None:
    parent, _, member = row.name.rpartition(".")
    module = sys.modules.get(parent)
    if row.status is Status.RENAMED and _is_class(parent):
        owner, _, target = row.target.rpartition(".")
        journal.set_attribute(resolve(owner), member, _alias(target))
    elif row.adapter and isinstance(module, PropModule):
        journal.set_attribute(type(module), member, _flag(answers, row, module))
    elif row.adapter and _is_class(parent):
        journal.set_attribute(_served_class(backend, parent), member, _member(row))
    elif row.status is Status.MISSING and _is_class(parent):
        _refuse_member(_served_class(backend, parent), member, _Missing(row, backend.name), journal)


def _flag(answers: Answers, row: Row, module: PropModule) -> Any:
    """Return the member of a flag module: a property, or an ordinary function."""
    own = getattr(module, row.name.rpartition(".")[2])
    return staticmethod(answers.of(row.name, own, "")) if callable(own) else _member(row)


def _is_class(name: str) -> bool:
    value: Any = torch
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return isinstance(value, type)


def _served_class(backend: Backend, name: str) -> Any:
    if not name.startswith(f"{ROOT}."):
        return resolve(name)
    row: Row | None = backend.table.rows.get(name)
    if row and row.adapter and not row.target:
        return resolve(row.adapter.replace(":", "."))
    return resolve(row.target if row and row.target else backend.module + name.removeprefix(ROOT))


def _refuse_member(owner: type, member: str, refusal: _Missing, journal: Journal) -> None:
    """Make a member that the class lacks raise, unless it is inherited: the class's own code may use that."""
    if not hasattr(owner, member):
        journal.set_attribute(owner, member, refusal)


class _Missing:
    """A member that the vendor's class lacks; access through the class or an instance raises."""

    def __init__(self, row: Row, backend: str) -> None:
        self._row = row
        self._backend = backend

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise MissingNameError(self._row.name, self._backend, self._row.note)


def _member(row: Row) -> Any:
    adapter = resolve(row.adapter.replace(":", "."))
    if not row.target:
        return adapter
    target = resolve(row.target)

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        return adapter(target, *args, **kwargs)

    return call


def _alias(target: str) -> property:
    return property(lambda self: getattr(self, target), doc=f"CUDA's name of ``{target}``.")
