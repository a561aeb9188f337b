"""What morph's own trees are, beyond an activation: executed once, and handed out again by the next one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, MutableMapping
from types import ModuleType

from morph import backends


class KeptModules:
    """The modules of the activation before: new classes, operators and loggers would pile up in the process.

    There is one instance, ``kept``. What was executed for one backend is not handed out for another.
    """

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}
        self._backend = ""

    def keep(self, modules: Mapping[str, ModuleType]) -> None:
        """Keep ``modules``, by name, of an activation that ends."""
        if not modules:
            return
        if self._backend != _backend():
            self._modules.clear()
            self._backend = _backend()
        self._modules.update(modules)

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


def _backend() -> str:
    """Return what tells the active backend from others; empty while none is active."""
    backend = backends.active()
    return f"{backend.name}{' simulated' * backend.simulated}" if backend else ""


kept = KeptModules()
