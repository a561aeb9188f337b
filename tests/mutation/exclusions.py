"""The places that are not changed, because no test should check them.

These are annotations, docstrings, the words of messages (a string with a space or placeholders, and what a
``raise`` says), ``assert``, ``__all__``, and what only affects speed or guards against our own mistakes:
caches, the frozen or slotted dataclass, and ``strict=`` of ``zip``.
"""

from __future__ import annotations

import ast
from typing import Any

_WHOLE = {"raise_stmt", "assert_stmt", "fstring", "import_from", "import_name"}
_DECORATORS = ("functools.cache", "functools.lru_cache", "overload", "typing.", "override", "final")
_TYPING = ("cast(", "typing.cast(", "TypeVar(", "typing.TypeVar(", "ParamSpec(", "typing.ParamSpec(")


def is_excluded(node: Any, operator: str) -> bool:
    """Return whether a change of a node by an operator is not worth counting."""
    if operator == "LeaveOut":
        return _says_something(node)
    if node.type == "decorator":
        return _code(node).removeprefix("@").startswith(_DECORATORS)
    if node.type == "string" and (_is_wording(node) or _is_docstring(node)):
        return True
    return any(_excludes(ancestor, child) for child, ancestor in _ancestry(node))


def _ancestry(node: Any) -> list[tuple[Any, Any]]:
    steps = [(node, node)]
    while node.parent is not None:
        steps.append((node, node.parent))
        node = node.parent
    return steps


def _excludes(ancestor: Any, child: Any) -> bool:
    return (
        ancestor.type in _WHOLE
        or (ancestor.type == "annassign" and child is ancestor.children[1])
        or (ancestor.type in ("param", "funcdef", "tfpdef") and _is_annotation(ancestor, child))
        or (ancestor.type == "expr_stmt" and _code(ancestor).startswith("__all__"))
        or (ancestor.type == "argument" and _code(ancestor.children[0]) == "strict")
        or (ancestor.type == "if_stmt" and "TYPE_CHECKING" in _code(ancestor.children[1]))
        or (ancestor.type == "atom_expr" and _code(ancestor).startswith(_TYPING))
        or (ancestor.type == "decorator" and "dataclass" in _code(ancestor))
    )


def _is_annotation(ancestor: Any, child: Any) -> bool:
    annotation = ancestor.children[-1] if ancestor.type == "tfpdef" else ancestor.annotation
    return annotation is not None and child is annotation


def _is_wording(text: Any) -> bool:
    value = ast.literal_eval(text.value)
    return isinstance(value, str) and " " in value.strip()


def _is_docstring(text: Any) -> bool:
    return bool(text.parent.type in ("simple_stmt", "file_input"))


def _says_something(node: Any) -> bool:
    return _code(node).startswith(("print(", "warnings.warn("))


def _code(node: Any) -> str:
    return str(node.get_code()).strip()
