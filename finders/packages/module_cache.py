"""Modules of morph's package trees, executed once and reused by the next activation."""

from __future__ import annotations

import sys
from collections.abc import Mapping, MutableMapping
from types import ModuleType

from morph import backends


class ModuleCache:
    """The modules of earlier activations; executing them again would pile up classes, operators and loggers.

    There is one instance, ``module_cache``. Modules executed for one backend are not reused for another.
    """

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}
        self._unfinished: dict[str, ModuleType] = {}
        self._backend = ""

    def put_away(self, loaded: Mapping[str, ModuleType]) -> None:
        """Move the modules of an ending activation from ``sys.modules`` to the cache.

        A package that another thread is importing stays until the next call.

        Args:
            loaded: The modules by name.
        """
        self.take_away_unfinished()
        finished, unfinished = _parted(loaded)
        self._unfinished.update(unfinished)
        self._keep({name: sys.modules.pop(name) for name in finished})

    def take_away_unfinished(self) -> None:
        """Remove modules left for importing threads from ``sys.modules``, once these have finished."""
        finished, self._unfinished = _parted(self._unfinished)
        for name in finished:
            del sys.modules[name]

    def find(self, name: str) -> ModuleType | None:
        """Return the cached module ``name``, if it was executed for the active backend."""
        return self._modules.get(name) if self._backend == _backend() else None

    def bring_back(self, module: ModuleType, loaded: MutableMapping[str, ModuleType]) -> bool:
        """Restore ``module`` and its submodules to ``sys.modules``, and return whether it was cached.

        Args:
            module: The result of ``find``, or a new module.
            loaded: Receives every restored module by name.
        """
        if self._modules.get(module.__name__) is not module:
            return False
        for name in [name for name in self._modules if f"{name}.".startswith(f"{module.__name__}.")]:
            loaded[name] = sys.modules[name] = self._modules.pop(name)
        return True

    def _keep(self, modules: Mapping[str, ModuleType]) -> None:
        if modules and self._backend != _backend():
            self._modules.clear()
            self._backend = _backend()
        self._modules.update(modules)


Modules = dict[str, ModuleType]


def _parted(modules: Mapping[str, ModuleType]) -> tuple[Modules, Modules]:
    """Split the imported ``modules`` into complete ones and those of packages that a thread is importing."""
    present = {name: module for name, module in list(modules.items()) if sys.modules.get(name) is module}
    busy = set(filter(is_being_imported, map(_top_level, present)))
    finished = {name: module for name, module in present.items() if _top_level(name) not in busy}
    return finished, {name: module for name, module in present.items() if name not in finished}


def _top_level(name: str) -> str:
    return name.partition(".")[0]


def is_being_imported(package: str) -> bool:
    """Return whether a thread is importing a module of the top-level ``package``."""
    modules = [module for name, module in list(sys.modules.items()) if _top_level(name) == package]
    return any(getattr(module.__spec__, "_initializing", False) for module in modules)


def _backend() -> str:
    """Return a key for the active backend; empty while none is active."""
    backend = backends.active()
    return f"{backend.name}{' simulated' * backend.simulated}" if backend else ""


module_cache = ModuleCache()
