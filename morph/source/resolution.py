"""Resolves the expressions of a module to names, as far as its source determines them."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from morph.source.scopes import Imported, Scope, Scopes, Value

IMPORTERS = frozenset({"importlib.import_module", "__import__", "builtins.__import__"})
RESULTS = {
    "torch.cuda.current_stream": "torch.cuda.Stream",
    "torch.cuda.default_stream": "torch.cuda.Stream",
    "torch.cuda.get_device_properties": "torch.cuda._CudaDeviceProperties",
}
"""The classes of functions' results whose members matter."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A name that an expression may stand for.

    Attributes:
        name: A dotted name, ``torch.cuda.Stream``.
        is_result: Whether it is the result of a call of that name, or a part of the result.
    """

    name: str
    is_result: bool = False


Node = TypeVar("Node", bound=ast.AST)
Origins = frozenset[Origin]
NOTHING: Origins = frozenset()


class Resolution:
    """Resolves each expression of a module; where branches differ, to several names.

    Args:
        tree: The module's tree.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.scopes = Scopes(tree)
        self._known: dict[ast.expr, Origins] = {}

    def nodes(self, kind: type[Node]) -> list[Node]:
        """Return the module's nodes of exactly this type, in the order of the source."""
        found: list[Any] = self.scopes.by_type.get(kind, [])
        return found

    @functools.cached_property
    def values(self) -> frozenset[ast.expr]:
        """The values of the module's dictionary displays, which are no keys of them."""
        return frozenset(value for display in self.nodes(ast.Dict) for value in display.values)

    @property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The module's import statements."""
        return [*self.nodes(ast.Import), *self.nodes(ast.ImportFrom)]

    @property
    def stars(self) -> list[str]:
        """The modules that the module imports all names from."""
        return [name for each in self.nodes(ast.Module) for name in self.scopes.of[each].stars]

    @property
    def chains(self) -> Iterator[ast.Attribute | ast.Name]:
        """The names that the module uses, not those it binds, each with all the attributes that follow."""
        nodes: list[ast.Attribute | ast.Name] = [*self.nodes(ast.Attribute), *self.nodes(ast.Name)]
        for node in nodes:
            is_bound = isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
            if not is_bound and not isinstance(self.scopes.parents[node], ast.Attribute):
                yield node

    def names(self, node: ast.expr) -> list[str]:
        """Return the dotted names that ``node`` itself may stand for, without results of calls."""
        return sorted(origin.name for origin in self.origins(node) if not origin.is_result)

    def spelled(self, node: ast.expr) -> list[str]:
        """Return the dotted names that ``node`` may stand for by attributes alone, with no call between."""
        found = self.names(node)
        return [] if found and self._is_of_result(node) else found

    def _is_of_result(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
            if any(origin.is_result for origin in self.origins(node)):
                return True
        return False

    def origins(self, node: ast.expr) -> Origins:
        """Return the origins of ``node``; none if the source does not determine them."""
        if node not in self._known:
            self._known[node] = NOTHING  # a name that is bound to itself
            self._known[node] = self._origins(node)
        return self._known[node]

    def _origins(self, node: ast.expr) -> Origins:
        match node:
            case ast.Name(id=name):
                return self._of_name(name, self.scopes.of[node])
            case ast.Attribute(value=value, attr=attribute):
                return frozenset(_member(origin, attribute) for origin in self.origins(value))
            case ast.Call(func=function):
                return self._of_call(node, function)
            case ast.Subscript(value=value, slice=index):
                return self._of_subscript(value, index)
            case ast.IfExp(test=test, body=ast.Constant(True), orelse=ast.Constant(False)):
                return self.origins(test)
            case ast.IfExp(body=one, orelse=other):
                return self.origins(one) | self.origins(other)
            case ast.BoolOp(values=values):
                return NOTHING.union(*map(self.origins, values))
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                return self.origins(value)
        return NOTHING

    def _of_name(self, name: str, scope: Scope) -> Origins:
        bindings = scope.look_up(name)
        if bindings is None:
            return _of_unbound(name, scope.module.stars)
        found: set[Origin] = set()
        for binding in bindings:
            if isinstance(binding, Imported):
                found.add(Origin(binding.name))
            elif binding is not None:
                found |= self._of_value(binding)
        return frozenset(found)

    def _of_value(self, value: Value) -> Origins:
        origins = self.origins(value.expression)
        return frozenset(origin for origin in origins if origin.is_result or not value.is_part)

    def _of_call(self, call: ast.Call, function: ast.expr) -> Origins:
        names = {origin.name for origin in self.origins(function)}
        match call.args:
            case [ast.Constant(value=str(module)), *_] if names & IMPORTERS:
                return frozenset({Origin(module)})
            case [holder, ast.Constant(value=str(attribute)), *_] if "getattr" in names:
                return frozenset(_member(origin, attribute) for origin in self.origins(holder))
        return frozenset(Origin(name, is_result=True) for name in names)

    def _of_subscript(self, value: ast.expr, index: ast.expr) -> Origins:
        origins = self.origins(value)
        if isinstance(index, ast.Constant) and Origin("sys.modules") in origins:
            return frozenset({Origin(str(index.value))})
        return frozenset(origin for origin in origins if origin.is_result)


def text_of(node: ast.AST) -> str | None:
    """Return the text of a string, with ``{}`` for what an f-string inserts; None for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) or "{}" for part in parts)
    return None


def texts_in(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the text of every string in ``nodes``."""
    texts = (text_of(part) for node in nodes for part in ast.walk(node))
    return [text for text in texts if text is not None]


def _member(origin: Origin, attribute: str) -> Origin:
    """Return the origin of ``attribute`` of ``origin``; for an instance it is the class's member."""
    return Origin(f"{RESULTS.get(origin.name, origin.name)}.{attribute}")


def _of_unbound(name: str, stars: Iterable[str]) -> Origins:
    if hasattr(builtins, name) or name == "torch":  # imported by the star import of another module
        return frozenset({Origin(name)})
    return frozenset(Origin(f"{star}.{name}") for star in stars)
