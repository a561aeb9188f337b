"""The members of adapters' classes, read from their source, since an import may need a vendor's package."""

from __future__ import annotations

import ast
import functools
import importlib.util
import pathlib
from collections.abc import Iterator, Mapping


def has_member(adapter: str, member: str) -> bool:
    """Return whether instances of an adapter's class have a member, according to its source.

    Args:
        adapter: ``"morph.aliases.adapters.graphs:CUDAGraph"``.
        member: The member's name.

    Returns:
        False if the class and its bases lack it; true if the adapter is not a class, or has a base from
        another package or a ``__getattr__`` that returns.
    """
    module, _, name = adapter.partition(":")
    found = _classes(module).get(name)
    if found is None:
        return True
    members = {*_members(found)}
    if member in members or hasattr(object, member) or _answers_itself(found):
        return True
    return any(_base_has(module, base, member) for base in found.bases)


def _base_has(module: str, base: ast.expr, member: str) -> bool:
    name = ast.unparse(base)
    if name in _classes(module):
        return has_member(f"{module}:{name}", member)
    imported = _imports(module).get(name, "")
    return has_member(imported, member) if imported.startswith("morph.") else name != "object"


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names that the body of a class binds, and those that its methods set on ``self``."""
    for each in ast.walk(node):
        match each:
            case ast.FunctionDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def _answers_itself(node: ast.ClassDef) -> bool:
    """Return whether a class has a ``__getattr__`` that returns values, not only raises."""
    found = (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__getattr__")
    return any(isinstance(each, ast.Return) for function in found for each in ast.walk(function))


def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    return {node.name: node for node in _tree(module).body if isinstance(node, ast.ClassDef)}


def _imports(module: str) -> Mapping[str, str]:
    """Return the objects that a module imports by ``from``, in the form of adapters."""
    statements = (node for node in _tree(module).body if isinstance(node, ast.ImportFrom))
    return {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in statements
        for alias in node.names
    }


@functools.cache
def _tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    source = pathlib.Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    return ast.parse(source)
