"""Signatures from sources and stubs: without annotations, with defaults as written."""

from __future__ import annotations

import ast
import enum
import functools
import importlib.util
import inspect
import pathlib
import re
import tokenize
from collections.abc import Callable, Iterator
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef
_OF_PYBIND = re.compile(r"\w+(\(.*\))(?: -> .*)?$")


def signature_of(function: Callable[..., Any]) -> str:
    """Return the signature of a function, or of a class's constructor without ``self``; empty if unknown.

    >>> import json
    >>> signature_of(json.JSONDecoder.decode)
    '(self, s, _w=WHITESPACE.match)'
    """
    if isinstance(function, type):
        return _of_constructor(function)
    code = getattr(inspect.unwrap(function), "__code__", None)
    node = code and _functions(code.co_filename).get((code.co_name, code.co_firstlineno))
    return _text(node.args) if node else _of_object(function)


def names_defined_in(path: str) -> set[str]:
    """Return the names that the source file of a module binds other than by importing them."""
    targets: set[str] = set()
    for node in _statements(_tree(path)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                targets.add(node.name)
            case ast.Assign():
                targets.update(each.id for each in node.targets if isinstance(each, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                targets.add(name)
    return targets


def stub(owner: type) -> dict[str, str] | None:
    """Return the members of a class of ``torch._C`` from torch's own stubs, None if it has no stub.

    A torch that is not built for a device has empty classes instead.
    """
    return _stub(owner.__name__) if owner.__module__ in ("torch._C", "torch._utils") else None


@functools.cache
def _stub(name: str) -> dict[str, str] | None:
    node = _stubs().get(name)
    if node is None:
        return None
    bases = (_stub(base.id) or {} for base in node.bases if isinstance(base, ast.Name))
    inherited = {name: text for base in bases for name, text in base.items()}
    return inherited | dict(_stub_members(node))


def _stub_members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id, "property"
        elif isinstance(each, ast.FunctionDef):
            yield each.name, _stub_method(each)


def _stub_method(node: ast.FunctionDef) -> str:
    decorators = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    if "property" in decorators:
        return "property"
    kind = decorators & {"staticmethod", "classmethod"}
    return "".join(f"{each} " for each in kind) + _text(node.args)


@functools.cache
def _stubs() -> dict[str, ast.ClassDef]:
    torch = importlib.util.find_spec("torch")
    folders = torch.submodule_search_locations if torch else None
    path = pathlib.Path(folders[0], "_C", "__init__.pyi") if folders else pathlib.Path()
    return {node.name: node for node in _tree(str(path)).body if isinstance(node, ast.ClassDef)}


def _of_constructor(owner: type) -> str:
    if issubclass(owner, enum.Enum):
        return ""
    for each in owner.__mro__:
        for name in ("__new__", "__init__"):
            text = (stub(each) or {}).get(name) or _own_signature(each, name)
            if text:
                return re.sub(r"^\(\w+(, )?", "(", text)
        if stub(each) is not None:
            return ""
    return ""


def _own_signature(owner: type, name: str) -> str:
    constructor = vars(owner).get(name)
    constructor = getattr(constructor, "__func__", constructor)
    known = stub(owner) is None and hasattr(constructor, "__code__")
    return signature_of(constructor) if known and constructor is not None else ""


def _of_object(function: Callable[..., Any]) -> str:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        found = _OF_PYBIND.match((getattr(function, "__doc__", None) or "").partition("\n")[0])
        return _of_text(found[1]) if found else ""
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return str(inspect.Signature(bare))


def _of_text(signature: str) -> str:
    try:
        function = ast.parse(f"def f{signature}: ...").body[0]
    except SyntaxError:
        return ""
    assert isinstance(function, ast.FunctionDef)
    return _text(function.args)


@functools.cache
def _functions(path: str) -> dict[tuple[str, int], Function]:
    """Return the functions of a source file by name and first line, which may be a decorator's."""
    found = (node for node in ast.walk(_tree(path)) if isinstance(node, Function))
    return {
        (node.name, min(node.lineno, *(each.lineno for each in [*node.decorator_list, node]))): node
        for node in found
    }


@functools.cache
def _tree(path: str) -> ast.Module:
    try:
        with tokenize.open(path) as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError):  # written in C, or generated
        return ast.Module([], [])


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a module's own statements, those under ``if`` and ``try`` included."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.ExceptHandler, ast.With)):
            yield from _statements(node)


def _text(arguments: ast.arguments) -> str:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for each in [*every, *filter(None, [arguments.vararg, arguments.kwarg])]:
        each.annotation = None
    return f"({ast.unparse(arguments)})"
