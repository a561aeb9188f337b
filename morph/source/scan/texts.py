"""Uses of CUDA as text: devices, process groups' backends, and comparisons with them."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator

from morph.source.resolution import Resolution, text_of
from morph.source.scan.uses import Found, Kind

DEVICE = re.compile(r"cuda(:(\d+|\{[^{}]*\}|%[ds])?)?")
COLLECTIVE = re.compile(r"nccl|(\w+:\w+,)*cuda:nccl(,\w+:\w+)*")
_ATTRIBUTE_FUNCTIONS = frozenset({"getattr", "hasattr", "setattr", "delattr"})


class Role(enum.Enum):
    """The role of a text at its place."""

    VALUE = "is passed, assigned or returned"
    COMPARED = "is compared"
    HELD = "is compared by identity, or as a part of something, or is a key of a dictionary"
    NONE = "says nothing about a device"


def texts(resolution: Resolution) -> Iterator[Found]:
    """Yield each text in a module that names a device or a backend of CUDA's."""
    for node in [*resolution.nodes(ast.Constant), *resolution.nodes(ast.JoinedStr)]:
        text = text_of(node)
        kind = _kind(text) if text else None
        if kind and not isinstance(resolution.scopes.parents.get(node), ast.JoinedStr):
            role = role_of(resolution, node)
            prefix = "f" if isinstance(node, ast.JoinedStr) else ""
            if role is not Role.NONE:
                yield Found(node, f'{prefix}"{text}"', kind if role is Role.VALUE else Kind.COMPARISON)


def _kind(text: str) -> Kind | None:
    if DEVICE.fullmatch(text):
        return Kind.DEVICE
    return Kind.COLLECTIVE if COLLECTIVE.fullmatch(text) else None


def role_of(resolution: Resolution, node: ast.AST) -> Role:
    """Return the role of the text ``node`` at its place."""
    parents = resolution.scopes.parents
    parent = parents.get(node)
    while isinstance(parent, ast.Tuple | ast.List | ast.Set | ast.MatchValue | ast.Starred):
        node, parent = parent, parents.get(parent)
    match parent:
        case ast.Compare():
            return _in_comparison(parent, node)
        case ast.pattern() | ast.match_case():
            return Role.COMPARED
        case ast.Call():
            return _of_argument(resolution, parent)
        case ast.Dict() if node not in resolution.values:
            return Role.VALUE if ":" in (text_of(node) or "") else _of_key(resolution, parent)
        case ast.Subscript() | ast.Expr() | ast.FormattedValue():
            return Role.NONE
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return Role.NONE
    return Role.VALUE


def _in_comparison(comparison: ast.Compare, operand: ast.AST) -> Role:
    if any(isinstance(operator, ast.Is | ast.IsNot) for operator in comparison.ops):
        return Role.HELD
    is_membership = any(isinstance(operator, ast.In | ast.NotIn) for operator in comparison.ops)
    is_part = isinstance(operand, ast.Tuple | ast.List | ast.Set)
    return Role.HELD if is_part and not is_membership else Role.COMPARED


def _of_argument(resolution: Resolution, call: ast.Call) -> Role:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "startswith":
        return Role.COMPARED
    return Role.NONE if {*resolution.names(call.func)} & _ATTRIBUTE_FUNCTIONS else Role.VALUE


def _of_key(resolution: Resolution, display: ast.Dict) -> Role:
    """Return the role of a key: of a dictionary of device types, of locations, or of a set-up script."""
    match resolution.scopes.parents.get(display):
        case ast.keyword(arg="map_location"):
            return Role.VALUE
        case ast.keyword(arg="extras_require"):
            return Role.NONE
        case ast.Call(func=function, args=[_, second, *_]) if second is display:
            return Role.VALUE if "torch.load" in resolution.names(function) else Role.HELD
    return Role.HELD
