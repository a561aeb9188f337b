"""The loader of the modules in morph's package trees."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import ClassVar

from morph import backends
from morph.backends.tables.package import Package
from morph.base.errors import MissingImportError, MissingNameError
from morph.finders.callers import imports_from
from morph.finders.packages.module_cache import module_cache


class TreeLoader(SourceFileLoader):
    """Loads a module of a tree under its public name; a missing name raises an error with the reason.

    Args:
        fullname: The public name.
        path: The module's file.
        package: The package that it belongs to.
        loaded: Receives every loaded module by name.

    Attributes:
        observers: Called with each module before it is executed.
    """

    observers: ClassVar[list[Callable[[ModuleType], object]]] = []

    def __init__(self, fullname: str, path: str, package: Package, loaded: dict[str, ModuleType]) -> None:
        super().__init__(fullname, path)
        self._package = package
        self._loaded = loaded

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module from an earlier activation, or None for a new one."""
        return module_cache.find(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, unless it comes from the cache."""
        for observer in self.observers:
            observer(module)
        if module_cache.bring_back(module, self._loaded):
            return
        module.__dict__["__getattr__"] = _refusing(module, self._package)
        self._loaded[module.__name__] = module
        super().exec_module(module)


def _refusing(module: ModuleType, package: Package) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a served module (PEP 562)."""
    owner = module.__name__

    def __getattr__(name: str) -> object:
        full = f"{owner}.{name}"
        row = None if name.startswith("__") else package.missing(full)
        if row is None:
            raise AttributeError(f"module {owner!r} has no attribute {name!r}", name=name, obj=module)
        if imports_from(sys._getframe(1)):
            raise MissingImportError(full, row.note)
        backend = backends.active()
        raise MissingNameError(full, backend.name if backend else "any", row.note)

    return __getattr__
