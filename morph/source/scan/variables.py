"""Uses of CUDA's environment variables."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from morph.backends.tables import table
from morph.backends.visibility import CUDA_VARIABLE
from morph.source.resolution import Resolution, text_of
from morph.source.scan.rules import by
from morph.source.scan.uses import Found, Kind

ENVIRONMENT = "os.environ"
FUNCTIONS = (
    "os.environ.get",
    "os.environ.pop",
    "os.environ.setdefault",
    "os.getenv",
    "os.putenv",
    "os.unsetenv",
)


def variables(resolution: Resolution) -> Iterator[Found]:
    """Yield each place in a module where one of CUDA's environment variables is read or set."""
    for kind in (ast.Subscript, ast.Call, ast.Compare):
        for node in resolution.nodes(kind):
            name = _asked(resolution, node)
            for rule in by("variables").get(name, ()):
                yield Found(node, name, Kind.LOOK, rule.name)
            if name in _known() and name not in by("variables"):
                yield Found(node, name, Kind.VARIABLE)


def _asked(resolution: Resolution, node: ast.AST) -> str:
    """Return the environment variable that ``node`` accesses; empty for none, or for a computed name."""
    match node:
        case ast.Subscript(value=holder, slice=key) if ENVIRONMENT in resolution.names(holder):
            return text_of(key) or ""
        case ast.Call(func=function, args=[key, *_]) if {*resolution.names(function)} & {*FUNCTIONS}:
            return text_of(key) or ""
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[holder]):
            return text_of(key) or "" if ENVIRONMENT in resolution.names(holder) else ""
    return ""


@functools.cache
def _known() -> frozenset[str]:
    tables = map(table.load, table.backend_names())
    return frozenset({CUDA_VARIABLE, *(name for each in tables for name in each.environment)})
