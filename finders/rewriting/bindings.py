"""The values that a file binds its names, attributes and functions to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SCOPES = _FUNCTIONS | ast.ClassDef | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_EMPTY = ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop
Value = ast.AST | None
"""The value of a name: an expression, ``Starred`` for an item of an expression, or None for anything else."""

_UNBOUND: list[Value] = []


class Scope:
    """A function, class, comprehension or the module.

    Attributes:
        parent: The enclosing scope.
        is_class: Whether its names are not visible in inner scopes.
        names: The values to which each of its names is bound.
        versions: The current values of pytest's temporary names, which are rebound repeatedly.
        shared: The scopes of the names that it declares ``global`` or ``nonlocal``.
    """

    def __init__(self, parent: Scope | None, *, is_class: bool) -> None:
        self.parent = parent
        self.is_class = is_class
        self.names: dict[str, list[Value]] = {}
        self.versions: dict[str, list[Value]] = {}
        self.shared: dict[str, Scope] = {}


class Bindings:
    """The values that a file binds its names, attributes and functions to.

    It walks the tree without recursion, since a long chain of ``elif`` or ``+`` nests deeper than calls can.

    Attributes:
        nodes: All nodes, in source order.
        all_names: Every name that the file binds, with ``*`` for those of a star import.
        changed: The names of collections from which an item is removed, or in which an index is looked up.
    """

    def __init__(self, tree: ast.AST) -> None:
        self.nodes: list[ast.AST] = []
        self.all_names: set[str] = set()
        self.changed: set[str] = set()
        self._scope_of: dict[int, Scope] = {}
        self._temporary: dict[int, list[Value]] = {}
        self._attributes: dict[str, list[Value]] = {}
        self._returned: dict[str, list[Value]] = {}
        self._parameters: dict[str, list[tuple[Scope, list[str]]]] = {}
        self._calls: list[ast.Call] = []
        self._module = Scope(None, is_class=False)
        self._walk(tree)
        self._pass_arguments()

    @property
    def outermost(self) -> dict[str, list[Value]]:
        """The values of the module's names."""
        return self._module.names

    def of(self, node: ast.AST) -> list[Value]:
        """Return the values of a name or attribute; empty if the file does not bind it."""
        match node:
            case ast.Name(id=name) if name.startswith("@"):
                return self._temporary.get(id(node), _UNBOUND)
            case ast.Name(id=name):
                return self._look_up(name, self._scope_of.get(id(node)))
            case ast.Attribute(attr=name):
                return self._attributes.get(name, _UNBOUND)
        return _UNBOUND

    def returned(self, function: str) -> list[Value]:
        """Return the return values of the functions called ``function``."""
        return self._returned.get(function, _UNBOUND)

    def _look_up(self, name: str, scope: Scope | None) -> list[Value]:
        start = scope
        while scope is not None:
            if name in scope.names and (scope is start or not scope.is_class):
                return scope.names[name]
            scope = scope.parent
        return _UNBOUND

    def _walk(self, tree: ast.AST) -> None:
        """Walk the tree in source order."""
        waiting: list[tuple[ast.AST, Scope, str]] = [(tree, self._module, "")]
        while waiting:
            node, scope, function = waiting.pop()
            if isinstance(node, _EMPTY):
                continue
            self.nodes.append(node)
            if not isinstance(node, ast.Constant):
                self._note(node, scope, function)
            inner, name = scope, function
            if isinstance(node, _SCOPES):
                inner = Scope(scope, is_class=isinstance(node, ast.ClassDef))
                if isinstance(node, _FUNCTIONS):
                    name = getattr(node, "name", "")
                    self._bind_parameters(node, inner)
            children = [*ast.iter_child_nodes(node)]
            waiting += [(child, inner, name) for child in reversed(children)]

    def _note(self, node: ast.AST, scope: Scope, function: str) -> None:
        match node:
            case ast.Name(id=name):
                self._scope_of[id(node)] = scope
                if name.startswith("@"):
                    self._temporary[id(node)] = scope.versions.get(name, _UNBOUND)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value, scope)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
            ):
                self._bind(target, value, scope)
            case ast.AugAssign(target=target, value=value):
                self._bind(target, value, scope)
                self._bind(target, None, scope)
            case ast.For(target=target, iter=items) | ast.AsyncFor(target=target, iter=items):
                self._bind(target, ast.Starred(items), scope)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass  # its targets are bound below, in its own scope
            case ast.comprehension(target=target, iter=items):
                self._bind(target, ast.Starred(items), scope)
            case ast.Return(value=ast.expr() as value) if function:
                self._returned.setdefault(function, []).append(value)
            case ast.Yield(value=ast.expr() as value) if function:
                self._returned.setdefault(function, []).append(ast.List([value], ast.Load()))
            case ast.Call(func=func):
                self._calls.append(node)
                self._note_change(func)
            case _:
                self._note_statement(node, scope)

    def _note_statement(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, None, scope)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._name(name, None, scope)
            case ast.Global(names=names):
                scope.shared.update(dict.fromkeys(names, self._module))
            case ast.Nonlocal(names=names) if scope.parent is not None:
                scope.shared.update(dict.fromkeys(names, scope.parent))
            case ast.alias(name=name, asname=other):
                self._name(other or name.partition(".")[0], None, scope)
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                self._name(name, None, scope)
            case ast.MatchMapping(rest=str(name)):
                self._name(name, None, scope)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._bind(target, None, scope)

    def _note_change(self, func: ast.expr) -> None:
        match func:
            case ast.Attribute(
                attr="remove" | "discard" | "index", value=ast.Name(id=name) | ast.Attribute(attr=name)
            ):
                self.changed.add(name)

    def _bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        match target, value:
            case ast.Name(id=name), _ if name.startswith("@"):
                scope.versions[name] = [value]
            case ast.Name(id=name), _:
                self._name(name, value, scope)
            case ast.Attribute(attr=name), _:
                self._attributes.setdefault(name, []).append(value)
            case ast.Starred(value=inner), _:
                self._bind(inner, None, scope)
            case ast.Tuple() | ast.List(), _:
                for each, part in zip(target.elts, _parts(value, len(target.elts)), strict=True):
                    self._bind(each, part, scope)

    def _name(self, name: str, value: Value, scope: Scope) -> None:
        self.all_names.add(name)
        scope = scope.shared.get(name, scope)
        scope.names.setdefault(name, []).append(value)
        if scope.is_class:
            self._attributes.setdefault(name, []).append(value)

    def _bind_parameters(self, function: ast.AST, scope: Scope) -> None:
        arguments: ast.arguments = function.args  # type: ignore[attr-defined]
        ordered = [each.arg for each in [*arguments.posonlyargs, *arguments.args]]
        for name in [*ordered, *(each.arg for each in arguments.kwonlyargs)]:
            self._name(name, None, scope)
        for name, default in [
            *zip(reversed(ordered), reversed(arguments.defaults), strict=False),
            *zip((each.arg for each in arguments.kwonlyargs), arguments.kw_defaults, strict=True),
        ]:
            if default is not None:
                self._name(name, default, scope)
        for each in filter(None, [arguments.vararg, arguments.kwarg]):
            self._name(each.arg, None, scope)
        if not isinstance(function, ast.Lambda):
            name = function.name  # type: ignore[attr-defined]
            self._parameters.setdefault(name, []).append((scope, ordered))

    def _pass_arguments(self) -> None:
        """Bind the parameters of the file's functions to the arguments of its calls; others may pass more."""
        for call in self._calls:
            match call.func:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    for scope, ordered in self._parameters.get(name, []):
                        is_bound = isinstance(call.func, ast.Attribute) and ordered[:1] in (["self"], ["cls"])
                        self._pass(call, scope, ordered[is_bound:])

    def _pass(self, call: ast.Call, scope: Scope, ordered: list[str]) -> None:
        passed = [*zip(ordered, call.args, strict=False)]
        passed += [(each.arg, each.value) for each in call.keywords if each.arg]
        for name, value in passed:
            if name in scope.names and not isinstance(value, ast.Starred):
                scope.names[name].append(value)


def _parts(value: Value, count: int) -> Iterator[Value]:
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items) if len(items) == count:
            yield from items
        case ast.Starred(value=ast.Call(func=ast.Name(id="enumerate"), args=[items, *_])) if count == 2:
            yield from [None, ast.Starred(items)]
        case ast.Starred(value=ast.Call(func=ast.Name(id="zip"), args=several)) if len(several) == count:
            yield from map(ast.Starred, several)
        case _:
            yield from [None] * count
