"""Served modules: wrapt proxies of torch's own modules whose names come from a backend's table."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import wrapt

from morph.base.errors import MissingNameError
from morph.base.journal import Journal
from morph.finders.callers import caller, defines_with, imports_from
from morph.finders.finder import finder
from morph.finders.scope import COMPILER, TESTING
from morph.finders.torch_cuda.answers import ROOT, Answers

Observer = Callable[[str], None]


class ServedModule(wrapt.BaseObjectProxy[ModuleType]):
    """A proxy of a torch module: introspection uses the module, names are looked up in the table.

    Objects are cached, so that a name costs one dictionary look-up from its second use on. After the
    activation ends, a proxy that code still holds behaves like the module itself.
    """

    # returns a cached object in 25 ns instead of 60: CPython calls this one without a bound method
    __getattribute__ = object.__getattribute__

    _self_answers: Answers | None = None
    _self_observer: Observer | None = None

    def begin(self, answers: Answers, observer: Observer | None) -> None:
        """Start serving names from a table."""
        self._self_answers, self._self_observer = answers, observer

    def end(self) -> None:
        """Return to the module's own names, and clear the cache."""
        self._self_answers = self._self_observer = None
        for name in [name for name in self.__self_dict__ if not name.startswith("_self_")]:
            self.__self_dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        answers = self._self_answers
        if answers is None:
            return getattr(self.__wrapped__, name)
        if name == "__all__":
            return [listed for listed in self.__wrapped__.__all__ if hasattr(self, listed)]
        full = f"{self.__wrapped__.__name__}.{name}"
        if _is_dunder(name) or not answers.knows(full):
            own = getattr(self.__wrapped__, name)
        else:  # a table may have names that this build of torch lacks
            own = getattr(self.__wrapped__, name, None)
        if _is_dunder(name):
            return own
        observer = self._self_observer
        if observer is not None:
            observer(full)
        frame = sys._getframe().f_back
        asker = caller(frame)
        try:
            answer = answers.of(full, own, asker)
        except MissingNameError as refusal:
            if own is not None and asker.startswith(TESTING):  # it uses all names of torch.cuda
                return sys.modules.get(full, own) if isinstance(own, ModuleType) else own
            # by isinstance, or in an annotation: on CUDA too a class is there where it cannot be made
            asks_for_a_class = isinstance(own, type) and (asker.startswith(COMPILER) or defines_with(frame))
            if asks_for_a_class or imports_from(frame):
                return answers.refused(full, own, refusal)
            raise
        if observer is None and answers.keeps(full):
            self._keep(name, answer, answers)
        return answer

    def _keep(self, name: str, answer: Any, answers: Answers) -> None:
        self.__self_setattr__(name, answer)
        if self._self_answers is not answers:  # another thread has deactivated meanwhile
            self.__self_dict__.pop(name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        is_modules = _is_dunder(name) or self._self_answers is None or hasattr(type(self.__wrapped__), name)
        if name.startswith("_self_") or is_modules:
            super().__setattr__(name, value)
        else:
            self.__self_setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if self._self_answers is None:
            super().__delattr__(name)
            return
        if name not in self.__self_dict__:
            getattr(self, name)
        del self.__self_dict__[name]

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        if self._self_answers is None:
            return vars(self.__wrapped__)
        kept = (name for name in self.__self_dict__ if not name.startswith("_self_"))
        answers = ((name, _or_absent(self, name)) for name in (*vars(self.__wrapped__), *kept))
        return {name: answer for name, answer in answers if answer is not _ABSENT}

    def __dir__(self) -> list[str]:
        return sorted(self.__dict__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle by name, as cloudpickle and dill pickle modules, which they recognise by exact type."""
        return importlib.import_module, (self.__wrapped__.__name__,)

    def __copy__(self) -> Any:
        return self.__wrapped__.__reduce_ex__(4)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__wrapped__.__reduce_ex__(4)


_ABSENT = object()
_proxies: dict[str, ServedModule] = {}  # one for each module, shared by all activations


def serve(package: ModuleType, answers: Answers, journal: Journal, observer: Observer | None = None) -> None:
    """Serve ``package`` and all its submodules, including those imported later."""

    def replace(module: ModuleType) -> None:
        proxy = _proxy(module)
        journal.on_undo(proxy.end)
        proxy.begin(answers, observer)
        journal.set_item(sys.modules, module.__name__, proxy)
        _bind_to_parent(module, proxy, journal)

    for name in _imported(package.__name__):
        replace(sys.modules[name])
    journal.on_undo(lambda: finder.unwatch_below(package.__name__))
    finder.watch_below(package.__name__, replace)
    journal.on_undo(lambda: finder.unwatch(package.__name__, replace))
    finder.watch(package.__name__, replace)  # for a reload


def _proxy(module: ModuleType) -> ServedModule:
    proxy = _proxies.get(module.__name__)
    if proxy is None or proxy.__wrapped__ is not module:
        proxy = _proxies[module.__name__] = ServedModule(module)
    return proxy


def _imported(package: str) -> list[str]:
    """Return the names of the imported modules of ``package``, itself included."""
    names = [name for name in list(sys.modules) if name.startswith(package)]
    return [name for name in names if f"{name}.".startswith(f"{package}.")]


def _bind_to_parent(module: ModuleType, proxy: ServedModule, journal: Journal) -> None:
    parent, _, last = module.__name__.rpartition(".")
    if not f"{parent}.".startswith(f"{ROOT}."):
        journal.set_attribute(sys.modules[parent], last, proxy)
        return
    # the served parent returns the module in sys.modules; its own attribute remains afterwards
    served = sys.modules[parent]
    if isinstance(served, ServedModule):
        vars(served.__wrapped__).setdefault(last, module)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _or_absent(module: ServedModule, name: str) -> Any:
    try:
        return getattr(module, name)
    except MissingNameError:
        return _ABSENT
