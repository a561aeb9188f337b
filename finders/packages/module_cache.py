"""What morph's own trees are, beyond an activation: executed once, and handed out again by the next one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, MutableMapping
from types import ModuleType

from morph import backends


class ModuleCache:
    """The modules of the activation before: new classes, operators and loggers would pile up in the process.

    There is one instance, ``module_cache``. What was executed for one backend is not handed out for another.
    """

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}
        self._unfinished: dict[str, ModuleType] = {}
        self._backend = ""

    def put_away(self, loaded: Mapping[str, ModuleType]) -> None:
        """Take the modules of an activation that ends out of ``sys.modules``, and keep them.

        A package that another thread is importing is left to it, until this is called again.

        Args:
            loaded: The modules by name.
        """
        self.take_away_unfinished()
        finished, unfinished = _parted(loaded)
        self._unfinished.update(unfinished)
        self._keep({name: sys.modules.pop(name) for name in finished})

    def take_away_unfinished(self) -> None:
        """Take what was left to a thread out of ``sys.modules``, if the thread has finished."""
        finished, self._unfinished = _parted(self._unfinished)
        for name in finished:
            del sys.modules[name]

    def find(self, name: str) -> ModuleType | None:
        """Return the kept module ``name``, if it was executed for the backend that is active."""
        return self._modules.get(name) if self._backend == _backend() else None

    def bring_back(self, module: ModuleType, loaded: MutableMapping[str, ModuleType]) -> bool:
        """Import ``module`` and all that was imported below it, and tell whether it was kept.

        Args:
            module: What ``find`` returned, or a new module.
            loaded: Takes every module that is back, by name.
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
    """Part what is imported of ``modules`` in what is complete, and packages that a thread is importing."""
    there = {name: module for name, module in list(modules.items()) if sys.modules.get(name) is module}
    busy = set(filter(is_being_imported, map(_top_level, there)))
    finished = {name: module for name, module in there.items() if _top_level(name) not in busy}
    return finished, {name: module for name, module in there.items() if name not in finished}


def _top_level(name: str) -> str:
    return name.partition(".")[0]


def is_being_imported(package: str) -> bool:
    """Tell whether a thread is importing a module of the top-level ``package``."""
    modules = [module for name, module in list(sys.modules.items()) if _top_level(name) == package]
    return any(getattr(module.__spec__, "_initializing", False) for module in modules)


def _backend() -> str:
    """Return what tells the active backend from others; empty while none is active."""
    backend = backends.active()
    return f"{backend.name}{' simulated' * backend.simulated}" if backend else ""


module_cache = ModuleCache()
