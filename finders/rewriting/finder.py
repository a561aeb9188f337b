# don't import any costly modules: a start-up file reaches this one
"""Makes the code of a program and its libraries compile with comparisons against CUDA literals rewritten."""

from __future__ import annotations

import sys

from morph.base.importing import DEPENDENCIES
from morph.finders.finder import finder
from morph.finders.packages.finder import packages
from morph.finders.rewriting import compiling, loader
from morph.finders.rewriting.mentions import mentions_cuda
from morph.finders.rewriting.owners import owner_of, owner_of_text
from morph.finders.scope import TORCH, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any

    from morph.finders.rewriting.literals import Literals
    from morph.finders.rewriting.loader import LiteralsOf

PYTEST = "_pytest.assertion.rewrite"
_LEFT_ALONE = TORCH | DEPENDENCIES | {"", "morph"}


class Rewriter:
    """Decides which code is rewritten, for any loader: it replaces the functions that all loaders use.

    All of them compile source with ``compile``, and those that cache bytecode do so as Python's own loaders
    or as pytest does. There is one instance, ``rewriter``. Python's standard library, torch's internals,
    served packages and code that has not opted in are left alone.
    """

    def __init__(self) -> None:
        self._scope = Scope()
        self._literals_of: LiteralsOf = _no_literals
        self._decided: dict[str, Literals | None] = {}
        self._own_cache_dir: Any = None

    def install(self, scope: Scope, literals_of: LiteralsOf) -> None:
        """Start rewriting; a second call only replaces the arguments.

        Args:
            scope: The code that has opted in.
            literals_of: Returns the literals that comparisons in the module of a name also accept.
        """
        self._scope, self._literals_of = scope, literals_of
        self._decided = {}
        compiling.install(self)
        loader.install(self.literals_of_file)
        if PYTEST not in sys.modules:
            finder.unwatch(PYTEST, self._keep_apart)
            finder.watch(PYTEST, self._keep_apart)
        else:
            self._keep_apart(sys.modules[PYTEST])

    def uninstall(self) -> None:
        """Stop rewriting; loaded modules stay as they are."""
        finder.unwatch(PYTEST, self._keep_apart)
        compiling.uninstall()
        loader.uninstall()
        if self._own_cache_dir is not None:
            sys.modules[PYTEST].get_cache_dir = self._own_cache_dir  # type: ignore[attr-defined]
            self._own_cache_dir = None
        self._decided, self._literals_of = {}, _no_literals

    def literals(self, path: str, frame: FrameType | None) -> Literals | None:
        """Return the literals that comparisons in the code compiled by ``frame`` also accept.

        Args:
            path: The file name that is passed to ``compile``.
            frame: The frame that calls ``compile``.
        """
        if frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in TORCH:
            return None  # torch generates modules of its own
        if path.startswith("<") or owner_of(path) is None:
            return self._literals_of_module(owner_of_text(frame))
        return self.literals_of_file(path)

    def literals_of_file(self, path: str) -> Literals | None:
        """Return the literals that comparisons in a file also accept; the result never changes."""
        if path not in self._decided:
            self._decided[path] = self._literals_of_module(owner_of(path) or "")
        return self._decided[path]

    def _literals_of_module(self, name: str) -> Literals | None:
        package = name.partition(".")[0]
        if package in _LEFT_ALONE or package in packages.names or not self._scope.policy(package).literals:
            return None
        return self._literals_of(package)

    def _keep_apart(self, module: ModuleType) -> None:
        """Make pytest keep the bytecode of rewritten modules in a separate folder."""
        if self._own_cache_dir is not None or not hasattr(module, "get_cache_dir"):
            return
        own = self._own_cache_dir = module.get_cache_dir

        def get_cache_dir(file_path: Any) -> Any:
            mentions = mentions_cuda(file_path.read_bytes())
            literals = self.literals_of_file(str(file_path)) if mentions else None
            return own(file_path) / literals.tag if literals else own(file_path)

        module.get_cache_dir = get_cache_dir  # type: ignore[attr-defined]


def _no_literals(module: str) -> None:
    return None


rewriter = Rewriter()
