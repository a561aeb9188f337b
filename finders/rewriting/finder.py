# don't import any costly modules: a start-up file reaches this one
"""The finder that has a program's modules, and its libraries', loaded rewritten where they mention CUDA."""

from __future__ import annotations

import sys

from morph.finders.packages.finder import packages
from morph.finders.rewriting.notebooks import MODULE, cells
from morph.finders.scope import Scope
from morph.importing import DEPENDENCIES, put_first, take_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from morph.finders.rewriting.loader import LiteralsOf


class RewritingFinder:
    """Hands a module's own spec on, with a loader that rewrites comparisons against CUDA literals.

    There is one instance, ``rewriter``. Python's own library, torch's internals, what is served and code that
    has not opted in are left alone.
    """

    def __init__(self) -> None:
        self._scope = Scope()
        self._literals_of: LiteralsOf = _no_literals

    def install(self, scope: Scope, literals_of: LiteralsOf) -> None:
        """Rewrite from now on; a second time changes only who decides.

        Args:
            scope: Whose code has opted in.
            literals_of: Returns what the comparisons of the module of a name are to accept as well.
        """
        self._scope, self._literals_of = scope, literals_of
        put_first(self)
        if scope.policy("__main__").literals:
            cells.install(literals_of)

    def uninstall(self) -> None:
        """Rewrite no more; what is loaded stays as it is."""
        take_away(self)
        cells.uninstall()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's spec with a loader that rewrites, or None if it is left alone (PEP 451)."""
        if fullname == MODULE:
            return self._find_shells(path, target)
        package = fullname.partition(".")[0]
        if package in sys.stdlib_module_names or package in packages.names:
            return None
        if package == "morph" or package in DEPENDENCIES:
            return None
        if not self._scope.policy(package).literals:
            return None
        from morph.finders.finder import find_elsewhere
        from morph.finders.rewriting.loader import rewriting

        spec = find_elsewhere(self, fullname, path, target)
        return rewriting(spec, self._literals_of) if spec else None

    def _find_shells(self, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        from morph.finders.finder import CallingLoader, find_elsewhere

        spec = find_elsewhere(self, MODULE, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = CallingLoader(spec.loader, cells)  # type: ignore[assignment]
        return spec


def _no_literals(module: str) -> None:
    return None


rewriter = RewritingFinder()
