# don't import any costly modules: a start-up file reaches this one
"""The finder of whole packages that cannot be installed here.

The import system holds its global lock while it calls a finder: a finder that imports something may wait for
threads that wait for the lock. So the finder only returns a possible origin of a module; its loader decides.
"""

from __future__ import annotations

import _thread
import sys

from morph.base.importing import put_first, take_away
from morph.finders.finder import find_elsewhere
from morph.finders.packages import folders
from morph.finders.packages.importers import is_stranger, policy_of_caller
from morph.finders.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from morph.finders.packages.trees import Trees


class PackageFinder:
    """Serves the packages that have a tree in ``aliases``, unless a working one is installed.

    There is one instance, ``packages``. Served modules run under their public names, from morph's files.
    """

    def __init__(self) -> None:
        self._names: frozenset[str] | None = None
        self._trees: Trees | None = None
        self._making_trees = _thread.RLock()
        self._scope = Scope()

    @property
    def names(self) -> frozenset[str]:
        """The top-level names of all packages that can be served."""
        if self._names is None:
            self._names = frozenset(folders.names())
        return self._names

    @property
    def trees(self) -> Trees:
        """The object that decides and serves; finding a module must not use it, since it imports others."""
        from morph.finders.packages.decisions import Decisions
        from morph.finders.packages.trees import Trees

        with self._making_trees:  # two instances would decide separately
            if self._trees is None:
                self._trees = Trees(self.names, Decisions(self._find_real, lambda: self in sys.meta_path))
            return self._trees

    def install(self, scope: Scope | None = None) -> None:
        """Serve from now on; a second call changes only the scope.

        Args:
            scope: The code to which packages are served; None serves all.
        """
        self._scope = scope or Scope()
        put_first(self)

    def uninstall(self) -> None:
        """Forget the served modules, restore those they replaced, and stop serving."""
        take_away(self)
        if self._trees is not None:
            self._trees.restore()
            self._trees = None

    def take_over(self) -> None:
        """Remove imported packages that cannot load: their next import is served."""
        for name in self.names:
            if sys.modules.get(name) is not None:
                self.trees.take_over(name)

    def give_back(self, name: str) -> None:
        """Serve the package ``name`` no longer, where an installed one works by other means."""
        self.trees.give_back(name)

    def import_torch(self) -> None:
        """Import torch while the served packages are hidden from it."""
        if "torch" not in sys.modules:
            self.hide()
        try:
            import torch  # noqa: F401  (which waits for another thread that is importing it)
        finally:
            self.show()

    def hide(self) -> None:
        """Take the served modules out of ``sys.modules`` while torch is imported."""
        if self._trees is not None:
            self._trees.hide()

    def show(self) -> None:
        """Put the hidden modules back."""
        if self._trees is not None:
            self._trees.show()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that may be served, or None for all others (PEP 451).

        Raises:
            ModuleNotFoundError: If a submodule is missing, with the reason, or is not served to the importer.
        """
        name = fullname.partition(".")[0]
        if name not in self.names:
            return None
        frame = sys._getframe(1)
        package = self._trees.package(name).name if self._trees else name
        stranger = is_stranger(frame, name, package, self._scope, self.names)
        if path is None:
            return None if stranger else self._find_top_level(fullname, target)
        return self._trees.find_submodule(fullname, path, frame, stranger) if self._trees else None

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """Return the served packages' distributions, for ``importlib.metadata`` and its backports."""
        if context is None or "path" in vars(context):  # a search of one folder, as pip does
            return ()
        policy = policy_of_caller(sys._getframe(1), self._scope, self.names)
        return self.trees.find_distributions(context, policy)

    def _find_real(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        return find_elsewhere(self, name, None, target)

    def _find_top_level(self, name: str, target: ModuleType | None) -> ModuleSpec | None:
        served = self._trees.served(name) if self._trees else None
        if served is False or (target is not None and not served):
            return None
        real = self._find_real(name, target) if served is None else None
        return _possible_spec(name, real, PackageLoader(self, name))


class PackageLoader:
    """Loads the real top-level module if its package works, else morph's own.

    Args:
        finder: The finder, which owns the trees.
        name: The module's name.
    """

    def __init__(self, finder: PackageFinder, name: str) -> None:
        self._finder = finder
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module; a real one is already complete."""
        return self._finder.trees.create(self._name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module unless it is complete, and leave no trace on it."""
        self._finder.trees.execute(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder.trees.loader(self._name), name)


packages = PackageFinder()


def _possible_spec(name: str, real: ModuleSpec | None, loader: Any) -> ModuleSpec:
    """Return a spec with the module's origin: that of ``real``, or morph's."""
    file = folders.top_level(name)
    searched = folders.folders_of(file)
    if real is not None and real.origin is not None:
        file, searched = real.origin, real.submodule_search_locations
    kind: type[ModuleSpec] = type(sys.__spec__)  # an import would slow down every interpreter
    spec = kind(name, loader, origin=file, is_package=searched is not None)
    spec.has_location = True
    spec.submodule_search_locations = searched
    return spec
