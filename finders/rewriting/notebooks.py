# don't import any costly modules: a start-up file reaches this one
"""Rewrites the cells of a notebook, which IPython parses and compiles itself."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from morph.finders.rewriting.loader import LiteralsOf

MODULE = "IPython.core.interactiveshell"
METHOD = "transform_ast"  # what IPython has for those who change a cell's tree before it is compiled


class Cells:
    """What IPython runs in this process, as soon as it is there; there is one instance, ``cells``."""

    def __init__(self) -> None:
        self._literals_of: LiteralsOf | None = None
        self._shell: Any = None
        self._own: Any = None

    def install(self, literals_of: LiteralsOf) -> None:
        """Rewrite from now on; a second time changes only who decides.

        Args:
            literals_of: Returns what the comparisons of the program are to accept as well.
        """
        self._literals_of = literals_of
        if MODULE in sys.modules:
            self.after_execution(MODULE, sys.modules[MODULE])

    def uninstall(self) -> None:
        """Rewrite no more."""
        self._literals_of = None
        if self._shell is not None:
            setattr(self._shell, METHOD, self._own)
            self._shell = None

    def before_execution(self, fullname: str) -> None:
        """Do nothing; for the loader of IPython's module, as the next."""

    def after_execution(self, fullname: str, module: ModuleType) -> None:
        """Have IPython's shells rewrite what they run."""
        from functools import wraps

        shell: Any = getattr(module, "InteractiveShell", None)
        if self._literals_of is None or self._shell is not None or not hasattr(shell, METHOD):
            return
        self._shell = shell
        self._own = own = vars(shell)[METHOD]

        @wraps(own)
        def transform_ast(shell: Any, node: Any) -> Any:
            tree = own(shell, node)
            self._rewrite(tree)
            return tree

        setattr(shell, METHOD, transform_ast)

    def _rewrite(self, tree: Any) -> None:
        literals = self._literals_of("__main__") if self._literals_of else None
        if literals is not None:
            from morph.finders.rewriting.comparisons import rewrite

            rewrite(tree, literals)


cells = Cells()
