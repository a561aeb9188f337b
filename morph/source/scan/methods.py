"""Uses of CUDA by methods of a program's objects: ``.cuda()`` and ``.is_cuda``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from morph.source.resolution import Resolution
from morph.source.scan.uses import Found, Kind


def methods(resolution: Resolution) -> Iterator[Found]:
    """Yield each call of ``.cuda()`` and each ``.is_cuda`` in a module, on any object."""
    for call in resolution.nodes(ast.Call):
        match call.func:
            case ast.Attribute(attr="cuda") as method if _may_be_tensor(resolution, method):
                yield Found(call, ".cuda()", Kind.METHOD)
    for node in resolution.nodes(ast.Attribute):
        if node.attr == "is_cuda" and isinstance(node.ctx, ast.Load) and _may_be_tensor(resolution, node):
            yield Found(node, ".is_cuda", Kind.METHOD)


def _may_be_tensor(resolution: Resolution, node: ast.Attribute) -> bool:
    """Return whether it may be a tensor's method; ``numba.cuda`` is a module's."""
    return not resolution.spelled(node.value)
