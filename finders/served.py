"""Served modules: wrapt proxies of torch's own modules whose answers come from a backend's table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import wrapt

from morph.errors import MissingNameError
from morph.finders.answers import ROOT, Answers
from morph.finders.askers import asker
from morph.finders.finder import finder
from morph.journal import Journal

Observer = Callable[[str], None]


class ServedModule(wrapt.BaseObjectProxy[ModuleType]):
    """A module in torch's own clothes: questions about the module go to it, names to the table.

    Answers are kept, so that a name costs one dictionary look-up from its second use on.
    """

    # a kept answer in 25 ns instead of 60: CPython calls this one without a detour through a bound method
    __getattribute__ = object.__getattribute__

    def __init__(self, module: ModuleType, answers: Answers, observer: Observer | None = None) -> None:
        super().__init__(module)
        self._self_answers = answers
        self._self_observer = observer

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [listed for listed in self.__wrapped__.__all__ if hasattr(self, listed)]
        full = f"{self.__wrapped__.__name__}.{name}"
        if _is_dunder(name) or not self._self_answers.knows(full):
            own = getattr(self.__wrapped__, name)
        else:  # a table also knows names that this build of torch lacks
            own = getattr(self.__wrapped__, name, None)
        if _is_dunder(name):
            return own
        if self._self_observer is not None:
            self._self_observer(full)
        answer = self._self_answers.of(full, own, asker(sys._getframe().f_back))
        if self._self_observer is None and self._self_answers.keeps(full):
            self.__self_setattr__(name, answer)
        return answer

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_self_") or _is_dunder(name) or hasattr(type(self.__wrapped__), name):
            super().__setattr__(name, value)
        else:
            self.__self_setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name not in self.__self_dict__:
            getattr(self, name)
        del self.__self_dict__[name]

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        kept = (name for name in self.__self_dict__ if not name.startswith("_self_"))
        answers = ((name, _or_absent(self, name)) for name in (*vars(self.__wrapped__), *kept))
        return {name: answer for name, answer in answers if answer is not _ABSENT}

    def __dir__(self) -> list[str]:
        return sorted(self.__dict__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("cannot pickle 'module' object")

    def __copy__(self) -> Any:
        return self.__reduce_ex__(4)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__reduce_ex__(4)


_ABSENT = object()


def serve(package: ModuleType, answers: Answers, journal: Journal, observer: Observer | None = None) -> None:
    """Serve ``package`` and all its submodules, those that are imported now and those that will be."""

    def replace(module: ModuleType) -> None:
        proxy = ServedModule(module, answers, observer)
        journal.set_item(sys.modules, module.__name__, proxy)
        _bind_to_parent(module, proxy, journal)

    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package.__name__}.")]:
        replace(sys.modules[name])
    journal.on_undo(lambda: finder.unwatch_below(package.__name__))
    finder.watch_below(package.__name__, replace)
    journal.on_undo(lambda: finder.unwatch(package.__name__, replace))
    finder.watch(package.__name__, replace)  # a reload


def _bind_to_parent(module: ModuleType, proxy: ServedModule, journal: Journal) -> None:
    parent, _, last = module.__name__.rpartition(".")
    if f"{parent}.".startswith(f"{ROOT}."):
        return  # the parent is served itself, and answers with what sys.modules holds
    journal.set_attribute(sys.modules[parent], last, proxy)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _or_absent(module: ServedModule, name: str) -> Any:
    try:
        return getattr(module, name)
    except MissingNameError:
        return _ABSENT
