"""The scopes of a module, and the bindings of their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_WORDS = (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)
_SILENT = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.arg)  # bind nothing; most nodes
_LEAVES = (ast.Constant, ast.Name, ast.alias)  # have nothing below them but words; half of the nodes


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that an import statement binds.

    Attributes:
        name: The dotted name of the import, ``torch.cuda.amp.autocast``.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Value:
    """A name that is bound to the value of an expression.

    Attributes:
        expression: The expression.
        is_part: Whether the name gets an element of it: in a ``for`` loop, or where a result is unpacked.
    """

    expression: ast.expr
    is_part: bool = False


Binding = Imported | Value | None
"""None is a binding without a known value: a parameter, a class, the variable of an ``except``."""


@dataclass(eq=False)
class Scope:
    """A module, a class, or a function (a lambda or a comprehension is one too).

    Attributes:
        parent: The scope around it; None for a module.
        is_class: Whether functions in it do not see its names.
        bindings: The possible values of each name.
        stars: The modules that it imports all names from.
        declared: Names that a ``global`` or ``nonlocal`` statement assigns to another scope.
    """

    parent: Scope | None = None
    is_class: bool = False
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    declared: dict[str, Scope] = field(default_factory=dict)

    def bind(self, name: str, binding: Binding) -> None:
        """Add a possible value of ``name``."""
        self.declared.get(name, self).bindings.setdefault(name, []).append(binding)

    def look_up(self, name: str) -> list[Binding] | None:
        """Return the possible values of ``name`` in this scope, or None if no enclosing scope binds it."""
        scope: Scope | None = self.declared.get(name, self)
        while scope is not None:
            if name in scope.bindings and (scope is self or not scope.is_class):
                return scope.bindings[name]
            scope = scope.parent
        return None

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        return self.parent.module if self.parent else self


class Scopes:
    """The scope of each name in a module's tree, and the parent of each node.

    It walks without recursion, since a long chain of ``elif`` or ``+`` nests deeper than Python's call stack.

    Attributes:
        of: The scope in which each node is evaluated.
        parents: The node around each node.
        by_type: The nodes of each type, in the order of the source.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.of: dict[ast.AST, Scope] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.by_type: dict[type[ast.AST], list[ast.AST]] = {}
        waiting: list[tuple[ast.AST, Scope]] = [(tree, Scope())]
        while waiting:
            node, scope = waiting.pop()
            self._record(node, scope)
            if isinstance(node, _LEAVES):
                continue
            children = [*_children(node, scope)]
            for child, _ in children:
                self.parents[child] = node
            waiting += reversed(children)

    def _record(self, node: ast.AST, scope: Scope) -> None:
        self.of[node] = scope
        self.by_type.setdefault(type(node), []).append(node)
        if isinstance(node, _SILENT):
            return
        for name, binding in _bound(node):
            scope.bind(name, binding)
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")], module=str(module), level=0):
                scope.stars.append(module)
            case ast.Global(names=names):
                scope.declared |= dict.fromkeys(names, scope.module)
            case ast.Nonlocal(names=names) if scope.parent:
                scope.declared |= dict.fromkeys(names, scope.parent)


def _children(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """Yield each child of ``node`` with the scope that it is evaluated in."""
    if not isinstance(node, (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, _WORDS):
                yield child, scope
        return
    inner = Scope(scope, isinstance(node, ast.ClassDef))
    if isinstance(node, FUNCTIONS):
        _bind_parameters(node.args, inner)
    outside = {*map(id, _outside(node))}
    for child in ast.iter_child_nodes(node):
        yield child, scope if id(child) in outside else inner


def _outside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of a function, class or comprehension that are evaluated in the scope around it."""
    if isinstance(node, FUNCTIONS):
        yield node.args
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from node.decorator_list
            if node.returns:
                yield node.returns
        case ast.ClassDef():
            yield from [*node.bases, *node.keywords, *node.decorator_list]


def _bind_parameters(arguments: ast.arguments, scope: Scope) -> None:
    positional = [*arguments.posonlyargs, *arguments.args]
    without = [None] * (len(positional) - len(arguments.defaults))
    defaults = zip(positional, [*without, *arguments.defaults], strict=True)
    for parameter, default in [*defaults, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]:
        scope.bind(parameter.arg, Value(default) if default else None)
    for rest in filter(None, (arguments.vararg, arguments.kwarg)):
        scope.bind(rest.arg, None)


def _bound(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield the names that ``node`` binds in its scope, with their values."""
    match node:
        case ast.Import(names=names):
            yield from map(_imported, names)
        case ast.ImportFrom(names=names):
            module = "." * node.level + (f"{node.module}." if node.module else "")
            for each in names:
                yield each.asname or each.name, Imported(module + each.name)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assigned(target, Value(value))
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target, value):
            yield from _assigned(target, Value(value))
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield from _assigned(node.target, Value(node.iter, is_part=True))
        case ast.withitem(optional_vars=ast.expr() as target):
            yield from _assigned(target, None)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, None
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, None
        case ast.AugAssign(target=ast.Name(id=name)) | ast.MatchMapping(rest=str(name)):
            yield name, None


def _imported(alias: ast.alias) -> tuple[str, Binding]:
    if alias.asname:
        return alias.asname, Imported(alias.name)
    root = alias.name.partition(".")[0]
    return root, Imported(root)


def _assigned(target: ast.expr, binding: Value | None) -> Iterator[tuple[str, Binding]]:
    match target:
        case ast.Name(id=name):
            yield name, binding
        case ast.Starred(value=rest):
            yield from _assigned(rest, None)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for each, part in zip(targets, _parts(binding, len(targets)), strict=True):
                yield from _assigned(each, part)


def _parts(binding: Value | None, count: int) -> list[Value | None]:
    if binding is None:
        return [None] * count
    match binding.expression:
        case ast.Tuple(elts=values) | ast.List(elts=values) if len(values) == count and not binding.is_part:
            return [*map(Value, values)]
    return [Value(binding.expression, is_part=True)] * count
