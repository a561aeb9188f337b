"""Compiles source with its comparisons against CUDA literals rewritten."""

from __future__ import annotations

import ast
from types import CodeType

from morph.finders.rewriting.comparisons import rewritten
from morph.finders.rewriting.interpreter import own_compile
from morph.finders.rewriting.literals import Literals
from morph.finders.rewriting.mentions import mentions_cuda
from morph.finders.rewriting.trees import warn_of_depth


def compile_source(
    source: str | bytes, path: str, literals: Literals | None, *, optimize: int = -1
) -> CodeType:
    """Compile a module's ``source``, with its comparisons against CUDA literals rewritten.

    Args:
        source: The module's text, or its bytes in the encoding that they declare.
        path: The file name that tracebacks show.
        literals: The literals that comparisons also accept; None compiles the source unchanged.
        optimize: As for :func:`compile`.

    Raises:
        SyntaxError: As for :func:`compile`.
    """
    if literals and mentions_cuda(source):
        try:
            return _compiled(rewritten(source, path, literals) or source, path, optimize)
        except RecursionError:
            # compile() nests deeper for source than for a tree: a tree with 1500 terms in one sum is too deep
            warn_of_depth(path)
    return _compiled(source, path, optimize)


def _compiled(source: str | bytes | ast.Module, path: str, optimize: int) -> CodeType:
    code: CodeType = own_compile(source, path, "exec", dont_inherit=True, optimize=optimize)
    return code
