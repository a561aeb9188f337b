"""Rewrites assignments of CUDA's environment variables to assignments for every vendor."""

from __future__ import annotations

import functools

import libcst as cst

from morph.backends.tables import table
from morph.backends.visibility import CUDA_VARIABLE
from morph.source.port.source import Source
from morph.source.scan.uses import Kind, Use


def chosen_everywhere(
    source: Source, original: cst.Assign, updated: cst.Assign
) -> tuple[Use, cst.Expr] | None:
    """Return a statement that sets every vendor's variable like ``os.environ["CUDA_VISIBLE_DEVICES"] = ...``.

    Args:
        source: The module.
        original: An assignment.
        updated: The rewritten assignment.

    Returns:
        The use and the statement; None if it assigns another variable.
    """
    match original.targets, updated.targets:
        case [cst.AssignTarget(was)], [cst.AssignTarget(cst.Subscript(value=environment))]:
            for use in source.uses_at(was, Kind.VARIABLE):
                if use.name == CUDA_VARIABLE:
                    return use, cst.Expr(_update(environment, updated.value))
    return None


def _update(environment: cst.BaseExpression, value: cst.BaseExpression) -> cst.Call:
    function = cst.Attribute(environment, cst.Name("update"))
    names = cst.parse_expression(f"({', '.join(map(_quoted, _variables()))})")
    shared = cst.Call(cst.parse_expression("dict.fromkeys"), [cst.Arg(names), cst.Arg(value)])
    return cst.Call(function, [cst.Arg(shared)])


def _quoted(text: str) -> str:
    return f'"{text}"'


@functools.cache
def _variables() -> tuple[str, ...]:
    """Return the variables that choose devices, CUDA's first."""
    vendors = (table.facts(name).visible_devices for name in table.backend_names())
    return tuple(dict.fromkeys([CUDA_VARIABLE, *filter(None, vendors)]))
