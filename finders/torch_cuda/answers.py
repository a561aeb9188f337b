"""The objects that serve CUDA names, built from the table's rows."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from morph.backends import Backend, counting, resolve
from morph.backends.tables.table import Row, Status
from morph.base.errors import MissingNameError
from morph.finders.torch_cuda.functions import ServedFunction
from morph.finders.torch_cuda.refusals import stand_in
from morph.finders.torch_cuda.views import PREDICATES, VALUES, Views

ROOT = "torch.cuda"


class Answers:
    """The objects that serve the names of ``torch.cuda`` and its submodules on one backend."""

    def __init__(self, backend: Backend, views: Views) -> None:
        self._backend = backend
        self._views = views
        self._table = backend.table
        self._noops: dict[str, int] = {}
        self._bound: dict[tuple[int, str], Any] = {}

    @property
    def noops(self) -> dict[str, int]:
        """The number of calls of each no-op, by name."""
        return dict(self._noops)

    def keeps(self, name: str) -> bool:
        """Return whether the object for ``name`` may be cached: it depends on neither vendor nor caller."""
        return name not in self._table.facts.rebound and name not in VALUES

    def of(self, name: str, own: Any, caller: str) -> Any:
        """Return the object that serves ``name``.

        Args:
            name: The dotted CUDA name.
            own: torch's own object of that name.
            caller: The name of the module whose code uses it.

        Raises:
            MissingNameError: If the backend lacks it.
        """
        if name in VALUES and not self._views.sees_cuda(caller):
            return own
        answer = self._served(name, own)
        if name in _COUNTING and answer is not own:
            answer = self._bound.setdefault(
                (id(own), "late"), counting.late(self._backend, answer, _COUNTING[name])
            )
        if name in PREDICATES and answer is not own:  # one object, even if a rehearsal looks it up each time
            return self._bound.setdefault((id(own), "predicate"), self._views.predicate(own, answer))
        return answer

    def refused(self, name: str, own: Any, refusal: MissingNameError) -> Any:
        """Return the object that an import of a missing name gets, and that raises when it is used.

        Raises:
            MissingNameError: For a module, which the import system finds itself.
            MissingImportError: For an object that cannot raise later.
        """
        key = id(own), "refused"
        if own is None or key not in self._bound:
            self._bound[key] = stand_in(name, own, refusal)
        return self._bound[key]

    def knows(self, name: str) -> bool:
        """Return whether the table itself serves ``name``, even if the installed torch lacks it."""
        row = self._table.rows.get(name)
        return row is not None and row.status is not Status.SAME and not self._table.facts.native_cuda

    def _served(self, name: str, own: Any) -> Any:
        row = self._table.row(name)
        if self._table.facts.native_cuda:  # a rehearsal or a report only records the lookups
            return sys.modules.get(name, own) if isinstance(own, ModuleType) else own
        if isinstance(own, ModuleType) and (row is None or row.name != name or row.status in _COVERING):
            return sys.modules.get(name, own)
        if row is None:
            return self._by_place(name, own)
        match row.status:
            case Status.SAME:
                return own
            case Status.RENAMED:
                return self._target(row, name)
            case Status.NOOP:
                return self._noop(row, name, own)
            case Status.MISSING:
                raise MissingNameError(name, self._backend.name, row.note)
        return self._adapted(row, name, own)

    def _by_place(self, name: str, own: Any) -> Any:
        if not name.startswith(f"{ROOT}."):
            return own
        try:
            return resolve(self._backend.module + name.removeprefix(ROOT))
        except AttributeError:
            if not _is_public(name, own):
                return own
        reason = f"{self._backend.module} has no such name, and {self._backend.name}.toml has no row for it"
        raise MissingNameError(name, self._backend.name, reason)

    def _adapted(self, row: Row, name: str, own: Any) -> Any:
        module, _, path = row.adapter.partition(":")
        adapter = resolve(f"{module}.{path}")
        key = id(own), row.adapter  # torch.cuda and its submodules have two names for one function
        if own is None or key not in self._bound:
            bound = _bound(own, adapter, self._target(row, name)) if row.target else _dressed(adapter, own)
            self._bound[key] = bound
        return self._bound[key]

    def _noop(self, row: Row, name: str, own: Any) -> Any:
        if not callable(own):
            return row.value

        def nothing(*args: object, **kwargs: object) -> Any:
            self._noops[name] = self._noops.get(name, 0) + 1
            return row.value

        return self._bound.setdefault((id(own), "noop"), ServedFunction(own, nothing))

    def _target(self, row: Row, name: str) -> Any:
        try:
            return resolve(row.target)
        except AttributeError:
            reason = f"this release of {self._backend.vendor or 'torch'} has no {row.target}"
            raise MissingNameError(name, self._backend.name, reason) from None


_COUNTING: dict[str, type[int]] = {"torch.cuda.is_available": bool, "torch.cuda.device_count": int}
_COVERING = (Status.SAME, Status.NOOP)  # such a module is served itself, with its names according to the row


def _is_public(name: str, own: Any) -> bool:
    """Return whether ``own`` is part of torch.cuda's interface rather than imported by it."""
    if any(part.startswith("_") for part in name.split(".")):
        return False
    return str(getattr(own, "__module__", ROOT)).startswith(ROOT)


def _dressed(adapter: Any, own: Any) -> Any:
    """Return ``adapter``; a function gets the name, documentation and signature of CUDA's function."""
    if not isinstance(adapter, FunctionType) or not callable(own):
        return adapter
    copy = FunctionType(
        adapter.__code__, adapter.__globals__, argdefs=adapter.__defaults__, closure=adapter.__closure__
    )
    copy.__kwdefaults__ = adapter.__kwdefaults__
    return functools.update_wrapper(copy, own)


def _bound(own: Any, adapter: Callable[..., Any], target: Any) -> Any:
    """Return a function that looks like CUDA's own and calls ``adapter(target, ...)``."""
    call = functools.partial(adapter, target)
    return ServedFunction(functools.update_wrapper(call, adapter) if own is None else own, call)
