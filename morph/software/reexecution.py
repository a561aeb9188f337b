"""A module of torch's own for a device, executed once more over a simulated runtime.

Such a module is Python over what a torch built for the device has in ``torch._C``. With that in its place,
the module's names, signatures and behaviour are torch's own.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType

from morph.journal import Journal


class Reexecuted:
    """The second execution of a module with its submodules, which takes the place of the first.

    Args:
        name: The module's dotted name, ``"torch.xpu"``.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._executed: dict[str, ModuleType] = {}

    def place(self, journal: Journal, complete: Callable[[ModuleType, ModuleType], None]) -> None:
        """Puts the module in the place of torch's; it is executed the first time only.

        Args:
            journal: Records that torch's own was there.
            complete: Called after the execution with the new module and torch's own.
        """
        own = self._loaded()
        journal.on_undo(lambda: self._put(own))
        self._put(self._executed)
        if not self._executed:
            for name in own:
                importlib.import_module(name)
            complete(sys.modules[self._name], own[self._name])
            self._executed.update(self._loaded())

    def _loaded(self) -> dict[str, ModuleType]:
        inside = f"{self._name}."
        return {name: module for name, module in sys.modules.items() if f"{name}.".startswith(inside)}

    def _put(self, modules: dict[str, ModuleType]) -> None:
        for name in self._loaded():
            del sys.modules[name]
        sys.modules.update(modules)
        if self._name in modules:
            parent, _, last = self._name.rpartition(".")
            setattr(sys.modules[parent], last, modules[self._name])
