# don't import any costly modules: a start-up file reaches this one
"""The replacement of the built-in ``compile``, which first rewrites comparisons against CUDA literals.

Every loader of Python modules uses it to compile the source or a syntax tree of it: the import system and its
subclasses, ``runpy``, zip files, pytest, type checkers, IPython, debuggers.
"""

from __future__ import annotations
import __future__

import builtins
import os
import sys

from morph.finders.rewriting.interpreter import own_compile
from morph.finders.rewriting.mentions import mentions_cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Protocol

    from morph.finders.rewriting.literals import Literals

    class Decides(Protocol):
        """The part of the rewriter that chooses the code to rewrite."""

        def literals(self, path: str, frame: FrameType | None) -> Literals | None:
            """Return the literals that comparisons in the code compiled by ``frame`` also accept."""


_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag

_decides: Decides | None = None
_names: dict[str, int] = {}  # the facts about names that cells of a notebook or console have bound


def compile(
    source: Any,
    filename: Any,
    mode: str,
    flags: int = 0,
    dont_inherit: bool = False,
    optimize: int = -1,
    *,
    _feature_version: int = -1,
) -> Any:
    """Compile source into a code object or a syntax tree, as Python's own ``compile`` does."""
    frame = sys._getframe(1)
    if not dont_inherit:
        flags |= frame.f_code.co_flags & _FUTURES
    rest = (flags, True, optimize)
    if _decides is None or flags & _ONLY_AST or not (mentions_cuda(source) or _compiles_cells(frame)):
        return own_compile(source, filename, mode, *rest, _feature_version=_feature_version)
    tree = _rewritten(source, filename, mode, flags, frame)
    try:
        return own_compile(tree or source, filename, mode, *rest, _feature_version=_feature_version)
    except RecursionError:
        if tree is None:
            raise
        _warn_of_depth(filename)
    return own_compile(source, filename, mode, *rest, _feature_version=_feature_version)


def _rewritten(source: Any, filename: Any, mode: str, flags: int, frame: FrameType) -> Any:
    """Return the rewritten syntax tree of ``source``, or None if nothing needs rewriting."""
    try:
        path = os.fsdecode(filename)
    except TypeError:
        return None  # Python's own function reports the error
    literals = _decides.literals(path, frame) if _decides else None
    if literals is None:
        return None
    from morph.finders.rewriting.comparisons import rewrite
    from morph.finders.rewriting.trees import tree_of, warn_of_depth

    try:
        tree = tree_of(source, path, mode, flags)
        return tree if rewrite(tree, literals, _names if _compiles_cells(frame) else None) else None
    except RecursionError:
        warn_of_depth(path)
    except (SyntaxError, ValueError, TypeError):
        pass  # the compilation raises the error again
    return None


def _compiles_cells(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == "codeop"


def _warn_of_depth(filename: Any) -> None:
    from morph.finders.rewriting.trees import warn_of_depth

    warn_of_depth(os.fsdecode(filename))


# Python removes its import system's frames from a module's tracebacks; this makes it remove compile's too
compile.__code__ = compile.__code__.replace(
    co_filename="<frozen importlib._bootstrap_external>", co_name="_call_with_frames_removed"
)
compile.__module__ = "builtins"  # the module name under which it is pickled


def install(decides: Decides) -> None:
    """Start rewriting; a second call only replaces ``decides``."""
    global _decides
    _decides = decides
    if builtins.compile is own_compile:
        builtins.compile = compile


def uninstall() -> None:
    """Stop rewriting."""
    global _decides
    _decides = None
    _names.clear()
    if builtins.compile is compile:
        builtins.compile = own_compile
