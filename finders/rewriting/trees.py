"""Syntax trees of source to be rewritten."""

from __future__ import annotations

import ast
import copy
import warnings
from typing import Any

from morph.finders.rewriting.interpreter import own_compile


def tree_of(source: Any, path: str, mode: str, flags: int) -> Any:
    """Return a syntax tree of ``source`` that may be changed.

    Args:
        source: Text, bytes, or a tree that the caller may still need unchanged.
        path: As for :func:`compile`.
        mode: As for :func:`compile`.
        flags: As for :func:`compile`.

    Raises:
        SyntaxError: As for :func:`compile`.
    """
    if isinstance(source, ast.AST):
        return copy.deepcopy(source)
    return own_compile(source, path, mode, flags | ast.PyCF_ONLY_AST, dont_inherit=True)


def warn_of_depth(path: str) -> None:
    """Warn that a module is not rewritten."""
    warnings.warn(f"{path} nests too deeply for its CUDA literals to be rewritten", stacklevel=3)
