"""What a CUDA name is answered with: the table's row, turned into an object."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from morph.backends import Backend, active, resolve
from morph.errors import MissingNameError
from morph.finders.torch_cuda.functions import ServedFunction
from morph.finders.torch_cuda.refusals import stand_in
from morph.finders.torch_cuda.views import PREDICATES, VALUES, Views
from morph.tables.table import Row, Status

ROOT = "torch.cuda"


class Answers:
    """Answers for every name of ``torch.cuda`` and its submodules on one backend."""

    def __init__(self, backend: Backend, views: Views) -> None:
        self._backend = backend
        self._views = views
        self._table = backend.table
        self._noops: dict[str, int] = {}
        self._bound: dict[tuple[int, str], Any] = {}

    @property
    def noops(self) -> dict[str, int]:
        """How often each no-op was called, by name."""
        return dict(self._noops)

    def keeps(self, name: str) -> bool:
        """Tell whether the answer for ``name`` may be kept: neither the vendor nor the caller changes it."""
        return name not in self._table.facts.rebound and name not in VALUES

    def of(self, name: str, own: Any, caller: str) -> Any:
        """Return what serves ``name``.

        Args:
            name: The dotted CUDA name.
            own: torch's own object of that name.
            caller: The name of the module whose code asks.

        Raises:
            MissingNameError: If the backend lacks it.
        """
        if name in VALUES and not self._views.sees_cuda(caller):
            return own
        answer = self._served(name, own)
        if name in PREDICATES and answer is not own:  # one object, though a rehearsal asks for it each time
            return self._bound.setdefault((id(own), "predicate"), self._views.predicate(own, answer))
        return answer

    def refused(self, name: str, own: Any, refusal: MissingNameError) -> Any:
        """Return what the import of a name that the backend lacks gets; it is refused when it is used.

        Raises:
            MissingNameError: For a module, which the import finds itself.
            MissingImportError: For what cannot be refused later.
        """
        key = id(own), "refused"
        if own is None or key not in self._bound:
            self._bound[key] = stand_in(name, own, refusal)
        return self._bound[key]

    def knows(self, name: str) -> bool:
        """Tell whether the table has an answer for ``name`` itself, whatever the installed torch has."""
        row = self._table.rows.get(name)
        return row is not None and row.status is not Status.SAME and not self._table.facts.native_cuda

    def _served(self, name: str, own: Any) -> Any:
        row = self._table.row(name)
        if self._table.facts.native_cuda:  # a rehearsal or a report only looks at what is asked for
            return sys.modules.get(name, own) if isinstance(own, ModuleType) else own
        if isinstance(own, ModuleType) and (row is None or row.name != name or row.status in _COVERING):
            return sys.modules.get(name, own)
        if row is not None:
            return _BY_STATUS[row.status](self, row, name, own)
        return self._by_place(name, own)

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

    def _same(self, row: Row, name: str, own: Any) -> Any:
        return own

    def _renamed(self, row: Row, name: str, own: Any) -> Any:
        return self._target(row, name)

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

        def nothing(wrapped: object, instance: object, args: object, kwargs: object) -> Any:
            self._noops[name] = self._noops.get(name, 0) + 1
            return row.value

        return self._bound.setdefault((id(own), "noop"), ServedFunction(own, nothing))

    def _missing(self, row: Row, name: str, own: Any) -> Any:
        raise MissingNameError(name, self._backend.name, row.note)

    def _target(self, row: Row, name: str) -> Any:
        try:
            return resolve(row.target)
        except AttributeError:
            reason = f"this release of {self._backend.vendor or 'torch'} has no {row.target}"
            raise MissingNameError(name, self._backend.name, reason) from None


_COVERING = (Status.SAME, Status.NOOP)  # a module with such a row is itself served, and its names by the row
_BY_STATUS: dict[Status, Callable[[Answers, Row, str, Any], Any]] = {
    Status.SAME: Answers._same,
    Status.RENAMED: Answers._renamed,
    Status.ADAPTED: Answers._adapted,
    Status.EMULATED: Answers._adapted,
    Status.NOOP: Answers._noop,
    Status.MISSING: Answers._missing,
}


def _is_public(name: str, own: Any) -> bool:
    """Tell whether ``own`` is part of torch.cuda's interface, and not something that it imported."""
    if any(part.startswith("_") for part in name.split(".")):
        return False
    return str(getattr(own, "__module__", ROOT)).startswith(ROOT)


def _dressed(adapter: Any, own: Any) -> Any:
    """Return ``adapter``, if it is a function, under the name, documentation and signature of CUDA's own."""
    if not isinstance(adapter, FunctionType) or not callable(own):
        return adapter
    copy = FunctionType(
        adapter.__code__, adapter.__globals__, argdefs=adapter.__defaults__, closure=adapter.__closure__
    )
    copy.__kwdefaults__ = adapter.__kwdefaults__
    return functools.update_wrapper(copy, own)


def _bound(own: Any, adapter: Callable[..., Any], target: Any) -> Any:
    """Return CUDA's own function, as far as anybody can see, that calls ``adapter(target, ...)``.

    After the activation, for those who have kept it, it is CUDA's own.
    """

    def call(wrapped: Callable[..., Any], instance: object, args: Any, kwargs: Any) -> Any:
        if active() is None and wrapped is not adapter:
            return wrapped(*args, **kwargs)
        return adapter(target, *args, **kwargs)

    return ServedFunction(adapter if own is None else own, call)
