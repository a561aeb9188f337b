# don't import any costly modules: a start-up file reaches this one
"""The finder of whole packages that cannot be installed here; at start, it knows no more than their names."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from morph.finders.trees import Trees

_ALIASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "aliases")


class PackageFinder:
    """Serves the packages that have a tree in ``aliases``, unless a real one is installed and works.

    There is one instance, ``packages``. What it serves is executed under its public name, from its own files.
    Who gets it and what it replaces, :mod:`morph.finders.trees` decides once one of the names is asked for.
    """

    def __init__(self) -> None:
        self._names: frozenset[str] | None = None
        self._trees: Trees | None = None

    @property
    def names(self) -> frozenset[str]:
        """The top-level names that are answered for."""
        if self._names is None:
            self._names = frozenset(_names())
        return self._names

    @property
    def trees(self) -> Trees:
        """What decides and serves."""
        if self._trees is None:
            from morph.finders.trees import Trees

            self._trees = Trees(self)
        return self._trees

    def install(self) -> None:
        """Serve from now on; a second time changes nothing."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Forget what was served, put back what it replaced, and serve no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._trees is not None:
            self._trees.restore()
            self._trees = None

    def take_over(self) -> None:
        """Replace what is imported already and cannot load: its next import is served."""
        for name in self.names:
            if name in sys.modules:
                self.trees.take_over(name)

    def hide(self) -> None:
        """Take what is served out of ``sys.modules``, for as long as torch is being imported."""
        if self._trees is not None:
            self._trees.hide()

    def show(self) -> None:
        """Put what was hidden back."""
        if self._trees is not None:
            self._trees.show()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a served module, or None for all others (PEP 451)."""
        if fullname.partition(".")[0] not in self.names:
            return None
        return self.trees.find_spec(fullname, path, target, sys._getframe(1))

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """Return the served packages' distributions, for ``importlib.metadata`` and its backports alike."""
        if context is None or "path" in vars(context):  # a folder is looked into, as by pip
            return ()
        return self.trees.find_distributions(context)


packages = PackageFinder()


def _names() -> Iterable[str]:
    for entry in os.listdir(_ALIASES):
        if os.path.isfile(os.path.join(_ALIASES, entry, "surface.toml")):
            yield entry
    extensions = os.path.join(_ALIASES, "extensions")
    for entry in os.listdir(extensions) if os.path.isdir(extensions) else ():
        if not entry.startswith("_"):
            yield entry.removesuffix(".py")
