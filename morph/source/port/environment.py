"""Rewrites assignments of CUDA's environment variables to assignments for every vendor."""

from __future__ import annotations

import ast
import functools

from morph.backends.tables import table
from morph.backends.visibility import CUDA_VARIABLE
from morph.source.port.source import Source
from morph.source.scan.uses import Kind, Use


def set_everywhere(source: Source, assignment: ast.Assign) -> Use | None:
    """Set every vendor's variable where ``os.environ["CUDA_VISIBLE_DEVICES"]`` is set.

    Args:
        source: The module, whose draft is changed.
        assignment: An assignment in it.

    Returns:
        The use; None if it assigns another variable.
    """
    match assignment.targets:
        case [ast.Subscript(value=environment) as target]:
            for use in source.uses_at(target, Kind.VARIABLE):
                if use.name == CUDA_VARIABLE:
                    holder, value = map(source.draft.code, (environment, assignment.value))
                    became = f"{holder}.update(dict.fromkeys(({', '.join(_variables())}), {value}))"
                    source.draft.replace(assignment, became)
                    return use
    return None


@functools.cache
def _variables() -> tuple[str, ...]:
    """Return the variables that choose devices, in quotation marks, CUDA's first."""
    vendors = (table.facts(name).visible_devices for name in table.backend_names())
    return tuple(f'"{name}"' for name in dict.fromkeys([CUDA_VARIABLE, *filter(None, vendors)]))
