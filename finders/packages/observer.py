"""Reports the names of served packages that a program uses to an observer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from morph.base.importing import put_first, take_away
from morph.base.journal import Journal
from morph.finders.packages.finder import packages
from morph.finders.packages.loader import TreeLoader

Observer = Callable[[str], None]


def observe(observer: Observer, journal: Journal) -> None:
    """Call ``observer`` with every name of a served package that is used from now on.

    Args:
        observer: Called with the dotted name, from the frame called by the code that uses the name.
        journal: Records how to undo the observation.
    """
    kind = _observed_type(observer)

    def dress(module: ModuleType) -> None:
        own = module.__class__
        journal.on_undo(lambda: setattr(module, "__class__", own))
        module.__class__ = kind

    imports = Imports(packages.names, observer)
    journal.on_undo(lambda: take_away(imports))
    put_first(imports)
    journal.on_undo(lambda: TreeLoader.observers.remove(dress))
    TreeLoader.observers.append(dress)
    for module in list(sys.modules.values()):
        if isinstance(getattr(module, "__loader__", None), TreeLoader):
            dress(module)


class Imports:
    """A finder that finds nothing and reports the requested modules.

    Args:
        names: The top-level names to report.
        observer: Called with the dotted name.
    """

    def __init__(self, names: Container[str], observer: Observer) -> None:
        self._names = names
        self._observer = observer

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Report the name to the observer, and return None."""
        if fullname.partition(".")[0] in self._names:
            self._observer(fullname)
        return None


def _observed_type(observer: Observer) -> type[ModuleType]:
    class Observed(ModuleType):
        """A module that reports which of its names are used."""

        def __getattribute__(self, name: str) -> Any:
            if not (name.startswith("__") and name.endswith("__")):
                observer(f"{object.__getattribute__(self, '__name__')}.{name}")
            return super().__getattribute__(name)

    Observed.__name__ = Observed.__qualname__ = ModuleType.__name__
    return Observed
