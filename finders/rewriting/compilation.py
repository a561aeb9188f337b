"""Compiles source with its comparisons against CUDA literals rewritten."""

from __future__ import annotations

import ast
import copy
import warnings
from types import CodeType
from typing import Any

from morph.finders.rewriting.comparisons import rewritten
from morph.finders.rewriting.compiling import own_compile
from morph.finders.rewriting.literals import Literals
from morph.finders.rewriting.mentions import mentions_cuda


def compile_source(
    source: str | bytes, path: str, literals: Literals | None, *, optimize: int = -1
) -> CodeType:
    """Compile a module's ``source``, with its comparisons against CUDA literals rewritten.

    Args:
        source: The module's text, or its bytes with whatever encoding they declare.
        path: The file name that tracebacks show.
        literals: What comparisons are to accept as well; None compiles the source as it stands.
        optimize: As for :func:`compile`.

    Raises:
        SyntaxError: As for :func:`compile`.
    """
    if literals and mentions_cuda(source):
        try:
            return _compiled(rewritten(source, path, literals) or source, path, optimize)
        except RecursionError:
            # compile() follows source deeper than a tree: 1500 terms of one sum are too many
            warn_of_depth(path)
    return _compiled(source, path, optimize)


def tree_of(source: Any, path: str, mode: str, flags: int) -> Any:
    """Return a syntax tree of ``source`` that may be changed.

    Args:
        source: Text, bytes, or a tree that somebody may still want as it is.
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
    """Say that a module stays as it is."""
    warnings.warn(f"{path} nests too deeply for its CUDA literals to be rewritten", stacklevel=3)


def _compiled(source: str | bytes | ast.Module, path: str, optimize: int) -> CodeType:
    code: CodeType = own_compile(source, path, "exec", dont_inherit=True, optimize=optimize)
    return code
