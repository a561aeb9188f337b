"""Finds the expressions of a file that provably hold a device, its name, or a collection of such names.

A name is followed to every value bound to it in the file, an attribute to every value assigned to one of that
name, a call to the return values of the file's functions of that name. A parameter, or a value from
elsewhere, is taken for a device if its name suggests one.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator

from morph.finders.rewriting.bindings import Bindings


class Facts(enum.IntFlag):
    """The kind of value that an expression has, as far as it is known."""

    DEVICE = enum.auto()  # a torch.device, whose str() is its name
    SPELLING = enum.auto()  # text that spells a device
    SURE = enum.auto()  # never any other text
    SPELLINGS = enum.auto()  # a collection of such texts
    COLLECTIVE = enum.auto()  # text that names a collective library


NOTHING = Facts(0)
_EITHER = Facts.DEVICE | Facts.SPELLING
_DEVICE_NAME = re.compile(r"(?:.*_)?(?:device|dev|accelerator)(?:_?(?:name|str|string|kind))?|map_location")
_TYPE_NAME = re.compile(r"(?:.*_)?(?:device|dev)_?type")
_DEVICES_NAME = re.compile(r"(?:.*_)?(?:device|dev)(?:_?(?:type|name|kind|string))?s")
_BACKEND_NAME = re.compile(r"(?:.*_)?backend")
_SAME_TEXT = frozenset({"lower", "casefold", "strip", "rstrip", "lstrip"})
_PARTS = frozenset({"split", "rsplit", "partition", "rpartition"})
_CONVERSIONS = frozenset({"str", "repr", "format"})
_COLLECTIONS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"})
DISPLAYS = ast.Tuple | ast.List | ast.Set


class Flow:
    """The kinds of values that the expressions of one file have.

    Args:
        tree: The file's syntax tree.
        remembered: The facts about names that earlier cells have bound; receives those of this cell.
    """

    def __init__(self, tree: ast.AST, remembered: dict[str, int] | None = None) -> None:
        self._remembered = remembered if remembered is not None else {}
        self.bindings = Bindings(tree)
        self._known: dict[int, Facts] = {}
        self._origins: dict[int, list[ast.AST]] = {}
        for name, values in self.bindings.outermost.items() if remembered is not None else ():
            self._remembered[name] = int(self._any(value for value in values if value is not None))

    def facts(self, node: ast.AST) -> Facts:
        """Return what is known about an expression."""
        known = self._known.get(id(node))
        if known is None:
            self._known[id(node)] = NOTHING  # ends the recursion where a name is bound to itself
            known = self._known[id(node)] = self._found(node)
        return known

    def origins(self, node: ast.AST) -> list[ast.AST]:
        """Return the expressions to which a name or attribute is bound in this file, else ``node`` itself.

        A name that is also bound to a value unknown from the file is returned itself.
        """
        key = id(self.bindings.of(node) or node)
        if key not in self._origins:
            self._origins[key] = [*self._followed(node)]
        return self._origins[key]

    def _followed(self, node: ast.AST) -> Iterator[ast.AST]:
        waiting, seen = [node], {id(node)}
        while waiting:
            each = waiting.pop()
            bound = self.bindings.of(each)
            if isinstance(each, ast.IfExp):
                bound = [each.body, each.orelse]
            if not bound or None in bound:
                yield each
            new = [value for value in bound if value is not None and id(value) not in seen]
            seen.update(map(id, new))
            waiting += new if None not in bound else []

    def _found(self, node: ast.AST) -> Facts:
        match node:
            case ast.Name(id=name):
                return self._bound(node, name)
            case ast.Attribute(attr="type", value=value):
                return Facts.SPELLING | (Facts.SURE if Facts.DEVICE in self.facts(value) else NOTHING)
            case ast.Attribute(attr=name):
                return self._bound(node, name)
            case ast.Call():
                return self._called(node)
            case ast.Subscript(value=value, slice=index):
                return self._item(value) | _key(index)
            case ast.Starred(value=value):
                return self._item(value)
            case (
                ast.JoinedStr(values=[ast.FormattedValue(value=first), *_])
                | ast.JoinedStr(values=[ast.Constant(value="torch."), ast.FormattedValue(value=first), *_])
            ):
                return self._text_of(first)
            case ast.BinOp(op=ast.Add(), left=left):
                return self.facts(left) & Facts.SPELLING
            case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(text)), right=right):
                first = right.elts[0] if isinstance(right, ast.Tuple) and right.elts else right
                return self._text_of(first) if text.startswith("%s") else NOTHING
        return self._composed(node)

    def _composed(self, node: ast.AST) -> Facts:
        match node:
            case ast.IfExp(body=body, orelse=otherwise):
                return self.facts(body) | self.facts(otherwise)
            case ast.BoolOp(values=values):
                return self._any(values)
            case ast.NamedExpr(value=value) | ast.Await(value=value):
                return self.facts(value)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return Facts.SPELLINGS if self._any(items) & _EITHER else NOTHING
            case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
                return Facts.SPELLINGS if self.facts(item) & _EITHER else NOTHING
        return NOTHING

    def _called(self, call: ast.Call) -> Facts:
        name = called_name(call)
        match call:
            case ast.Call(func=ast.Name(), args=[value, *_]) if name in _CONVERSIONS:
                return self._text_of(value)
            case ast.Call(func=ast.Name(), args=[value]) if name in _COLLECTIONS:
                return self.facts(value) & Facts.SPELLINGS
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="str"), devices]):
                return Facts.SPELLINGS if self._item(devices) & _EITHER else NOTHING
            case ast.Call(func=ast.Name(id="next"), args=[value, *_]):
                return self._item(value)
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value="type"), *_]):
                return Facts.SPELLING
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(key)), *_]):
                return named(key)
            case ast.Call(func=ast.Attribute(value=text)) if name in _SAME_TEXT:
                return self.facts(text) & (Facts.SPELLING | Facts.SURE | Facts.COLLECTIVE)
            case ast.Call(func=ast.Attribute(value=text)) if name in _PARTS:
                return Facts.SPELLINGS if Facts.SPELLING in self.facts(text) else NOTHING
            case ast.Call(func=ast.Attribute(attr="type"), args=[], keywords=[]):
                return Facts.SPELLING  # "torch.cuda.FloatTensor"
            case ast.Call(
                func=ast.Attribute(attr="format", value=ast.Constant(value=str(text))), args=[value, *_]
            ):
                return self._text_of(value) if text.startswith("{") else NOTHING
        return self._returned(call.func) or self._any([call.func]) or named(name)

    def _returned(self, function: ast.AST, depth: int = 4) -> Facts:
        """Return what is known about a call of a function, also if wrapped by the likes of ``jit.script``."""
        match function:
            case ast.Name(id=name) | ast.Attribute(attr=name) if self.bindings.returned(name):
                return self._any(filter(None, self.bindings.returned(name)))
            case ast.Name() if depth:
                wrapped = [each for each in self.origins(function) if isinstance(each, ast.Call)]
                return self._returned(wrapped[0], depth - 1) if len(wrapped) == 1 else NOTHING
            case ast.Call(args=[inner, *_]) if depth:
                return self._returned(inner, depth - 1)
        return NOTHING

    def _bound(self, node: ast.AST, name: str) -> Facts:
        values = self.bindings.of(node)
        if id(values) not in self._known:
            self._known[id(values)] = NOTHING  # as in ``facts``
            self._known[id(values)] = self._any(value for value in values if value is not None)
        found = self._known[id(values)]
        if isinstance(node, ast.Attribute):  # a property
            found |= self._any(filter(None, self.bindings.returned(name)))
        if found or (values and isinstance(node, ast.Name) and all(map(_is_literal, values))):
            return found
        if not values and isinstance(node, ast.Name):
            found = Facts(self._remembered.get(name, 0))
        return found | named(name)

    def _item(self, collection: ast.AST) -> Facts:
        match collection:
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return self._any(items)
            case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
                return self.facts(item)
        return _EITHER if Facts.SPELLINGS in self.facts(collection) else NOTHING

    def _text_of(self, value: ast.AST) -> Facts:
        found = self.facts(value)
        if not found & _EITHER:
            return NOTHING
        return Facts.SPELLING | (Facts.SURE if found & (Facts.DEVICE | Facts.SURE) else NOTHING)

    def _any(self, nodes: Iterator[ast.AST] | list[ast.expr] | filter[ast.AST]) -> Facts:
        found = NOTHING
        for node in nodes:
            found |= self.facts(node)
        return found


def named(name: str) -> Facts:
    """Return what a value called ``name`` is assumed to be."""
    word = name.lower()
    if _TYPE_NAME.fullmatch(word):
        return Facts.SPELLING
    if _DEVICE_NAME.fullmatch(word):
        return _EITHER
    if _DEVICES_NAME.fullmatch(word):
        return Facts.SPELLINGS
    return Facts.COLLECTIVE if _BACKEND_NAME.fullmatch(word) else NOTHING


def called_name(call: ast.Call) -> str:
    """Return the last part of the called function's name; empty if it has none."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _key(index: ast.expr) -> Facts:
    return named(index.value) if isinstance(index, ast.Constant) and isinstance(index.value, str) else NOTHING


def _is_literal(value: ast.AST | None) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Starred(value=ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items)):
            return all(isinstance(item, ast.Constant) for item in items)
        case ast.IfExp(body=ast.Constant(), orelse=ast.Constant()):
            return True
    return False
