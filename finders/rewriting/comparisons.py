"""Rewrites comparisons of devices with CUDA's words so that they also accept a vendor's spelling.

``x.device.type == "cuda"`` is False on an NPU, where the type is ``"npu"``. In code that has opted in, the
left side becomes an expression that translates its value to CUDA's spelling: ``==`` itself stays in place, so
that overloaded comparisons, tracebacks and short-circuits are unchanged, and each operand is evaluated once.

An expression is rewritten if it provably concerns a device (``flow``): ``==``, ``!=`` and chains of them;
``in`` and ``not in``, with the literal on either side; string methods with a CUDA literal, and slices;
look-ups in a table whose keys are CUDA's words; value patterns of ``match``; ``assertEqual`` and similar.
Unchanged are ``is``, comparisons of whole tuples, every other string, and every file that itself
distinguishes the vendor's device from CUDA's (``vendor_branches``).
"""

from __future__ import annotations

import ast
from typing import Any

from morph.finders.rewriting.flow import DISPLAYS, NOTHING, Facts, Flow, called_name
from morph.finders.rewriting.inline import USED, Form, spelled
from morph.finders.rewriting.literals import Literals, Word
from morph.finders.rewriting.patterns import Patterns
from morph.finders.rewriting.vendor_branches import EQUALITIES, MEMBERSHIPS, METHODS, to_translate

_SEARCHES = frozenset({"match", "search", "fullmatch"})
_CONCERNED = ast.Compare | ast.Call | ast.Assign | ast.Subscript | ast.Match | ast.MatchClass
_NO_TEXT = ast.Constant | ast.Dict | DISPLAYS | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_KINDS = {
    "cuda": (Facts.SPELLING, Facts.SPELLINGS),
    "nccl": (Facts.COLLECTIVE, NOTHING),
}


def rewritten(source: str | bytes, path: str, literals: Literals) -> ast.Module | None:
    """Return the rewritten syntax tree of ``source``, or None if it has no comparison to rewrite.

    Raises:
        SyntaxError: As for :func:`compile`.
    """
    tree = ast.parse(source, path)
    return tree if rewrite(tree, literals) else None


def rewrite(tree: ast.AST, literals: Literals, remembered: dict[str, int] | None = None) -> bool:
    """Rewrite the syntax tree of a module or notebook cell in place; return whether anything changed.

    Args:
        tree: The syntax tree.
        literals: The literals that comparisons also accept.
        remembered: The facts about names from earlier cells; receives those of this cell.
    """
    flow = Flow(tree, remembered)
    words = to_translate(flow, literals.words)
    rewriting = Rewriting(tree, flow)
    for cuda in dict.fromkeys(word.cuda for word in words):
        rewriting.look_for([word for word in words if word.cuda == cuda])
    return rewriting.apply()


class Rewriting:
    """The changes to one syntax tree.

    Args:
        tree: The tree that ``apply`` changes in place.
        flow: The facts about its expressions.
    """

    def __init__(self, tree: ast.AST, flow: Flow) -> None:
        self._tree = tree
        self._flow = flow
        self._own_names = not self._flow.bindings.all_names.isdisjoint({*USED, "*"})
        self._operands: dict[tuple[int, str, int], tuple[Any, list[Word], Form]] = {}
        self._patterns = Patterns()
        self._lists: dict[tuple[int, str], bool] = {}
        self._words: list[Word] = []
        self._one = self._many = NOTHING

    def look_for(self, words: list[Word]) -> None:
        """Find the expressions that should accept the vendors' ``words`` for one of CUDA's."""
        self._words = words
        self._one, self._many = _KINDS[words[0].cuda]
        for node in self._flow.bindings.nodes:
            if isinstance(node, _CONCERNED):
                self._look_at(node)

    def apply(self) -> bool:
        """Rewrite the expressions found; return whether there were any."""
        changed = bool(self._operands) or bool(self._patterns)
        for (_, field, index), (parent, words, form) in self._operands.items():
            pairs = [(word.vendor, word.cuda) for word in words]
            if index < 0:
                new = spelled(getattr(parent, field), pairs, form, own_names=self._own_names)
                setattr(parent, field, new)
            else:
                items = getattr(parent, field)
                items[index] = spelled(items[index], pairs, form, own_names=self._own_names)
        self._patterns.apply(self._tree)
        return changed

    def _look_at(self, node: ast.AST) -> None:
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()]):
                self._membership((node, "left", -1), (node, "comparators", 0))
            case ast.Compare(ops=operators) if {*map(type, operators)} <= {ast.Eq, ast.NotEq}:
                rest = [(node, "comparators", index) for index in range(len(operators))]
                self._equality([(node, "left", -1), *rest])
            case ast.Call():
                self._call(node)
            case ast.Assign(value=ast.Attribute(attr=method) as value, targets=[ast.Name(id=name)]):
                if name.startswith("@") and method in METHODS:  # pytest's assertion rewriting splits a call
                    self._spell_if_text((value, "value", -1))
            case ast.Subscript(value=table, slice=index):
                self._look_up(node, table, index)
            case ast.Match(subject=subject, cases=cases):
                if self._facts(subject) & (self._one | self._many) or self._is_tuple_of_text(subject):
                    self._patterns.accept((case.pattern for case in cases), self._words)
            case ast.MatchClass(kwd_attrs=names, kwd_patterns=patterns) if self._one is Facts.SPELLING:
                typed = zip(names, patterns, strict=True)
                by_type = (pattern for name, pattern in typed if name in {"type", "device_type"})
                self._patterns.accept(by_type, self._words)

    def _equality(self, places: list[tuple[Any, str, int]]) -> None:
        operands = [_at(place) for place in places]
        known = [self._facts(operand) for operand in operands]
        certain = self._one is Facts.SPELLING and any(Facts.SURE in facts for facts in known)
        certain = certain or any(isinstance(each, ast.Attribute) and self._is_cuda(each) for each in operands)
        about = [bool(facts & self._one) for facts in known]
        if not (any(about) or certain):
            return
        literal = any(map(self._stands_for_cuda, operands))
        unknown = sum(not isinstance(operand, _NO_TEXT) for operand in operands)
        if literal or (unknown > 1 and certain):
            for place, operand, is_about in zip(places, operands, about, strict=True):
                if (is_about or certain) and not isinstance(operand, _NO_TEXT) and not self._is_cuda(operand):
                    self._spell(place)

    def _membership(self, left: tuple[Any, str, int], right: tuple[Any, str, int]) -> None:
        item, container = _at(left), _at(right)
        if self._stands_for_cuda(item):
            self._contains_cuda(container, right)
        elif self._facts(item) & self._one and self._holds_cuda(container):
            self._spell(left)

    def _contains_cuda(self, container: ast.expr, place: tuple[Any, str, int]) -> None:
        match container:
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                for index, item in enumerate(items):
                    if self._facts(item) & self._one:
                        self._spell((container, "elts", index))
            case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
                if self._facts(item) & self._one:
                    self._spell((container, "elt", -1))
            case _ if self._facts(container) & self._many and self._is_only_read(container):
                self._spell(place, Form.MANY)
            case _:
                self._spell_if_text(place)

    def _call(self, call: ast.Call) -> None:
        name = called_name(call)
        match call:
            case ast.Call(func=ast.Attribute(value=text) as method) if name in METHODS:
                if self._facts(text) & self._one and any(map(self._mentions, call.args)):
                    self._spell((method, "value", -1))
            case ast.Call(func=ast.Attribute(attr="get", value=table), args=[key, *_]):
                self._look_up(call, table, key, "args", 0)
            case ast.Call(func=ast.Attribute(), args=[_, _, *_]) if name in EQUALITIES:
                self._equality([(call, "args", 0), (call, "args", 1)])
            case ast.Call(func=ast.Attribute(), args=[_, _, *_]) if name in MEMBERSHIPS:
                self._membership((call, "args", 0), (call, "args", 1))
            case ast.Call(func=ast.Attribute(), args=[pattern, _, *_]) if name in _SEARCHES:
                if self._mentions(pattern):
                    self._spell_if_text((call, "args", 1))

    def _look_up(
        self, node: ast.AST, table: ast.expr, key: ast.expr, field: str = "slice", index: int = -1
    ) -> None:
        is_cut = isinstance(key, ast.Slice) or (isinstance(key, ast.Constant) and type(key.value) is int)
        if is_cut and self._one is Facts.SPELLING and isinstance(node, ast.Subscript):
            if self._facts(table) & (Facts.SPELLING | Facts.SPELLINGS) == Facts.SPELLING:
                self._spell((node, "value", -1))
        elif self._facts(key) & self._one and self._is_table(table):
            self._spell((node, field, index))

    def _spell_if_text(self, place: tuple[Any, str, int]) -> None:
        if self._facts(_at(place)) & self._one:
            self._spell(place)

    def _spell(self, place: tuple[Any, str, int], form: Form = Form.ONE) -> None:
        parent, field, index = place
        if isinstance(getattr(parent, "ctx", None), ast.Store | ast.Del) and field == "value":
            return
        _, words, _ = self._operands.get((id(parent), field, index), (parent, [], form))
        self._operands[id(parent), field, index] = parent, [*words, *self._words], form

    def _facts(self, node: ast.AST) -> Facts:
        return self._flow.facts(node)

    def _is_cuda(self, node: ast.AST) -> bool:
        return any(word.is_cuda(node) for word in self._words[:1])

    def _is_vendor(self, node: ast.AST) -> bool:
        return any(word.is_vendor(node) for word in self._words)

    def _mentions(self, node: ast.AST) -> bool:
        match node:
            case ast.Constant(value=str(text)):
                return self._words[0].cuda in text
            case ast.Tuple(elts=items):
                return any(map(self._mentions, items)) and not any(map(self._is_vendor, items))
        return self._stands_for_cuda(node)

    def _stands_for_cuda(self, node: Any) -> bool:
        for origin in (node, *self._flow.origins(node)):
            is_item = isinstance(origin, ast.Starred) and self._lists_cuda(origin.value)
            if is_item or self._is_cuda(origin):
                return True
        return False

    def _holds_cuda(self, container: ast.expr) -> bool:
        if self._is_cuda(container):
            return True
        return self._is_table(container) or all(map(self._lists_cuda, self._flow.origins(container)))

    def _lists_cuda(self, node: ast.AST) -> bool:
        key = id(node), self._words[0].cuda
        if key not in self._lists:
            self._lists[key] = False  # for recursive definitions
            self._lists[key] = self._is_list_with_cuda(node)
        return self._lists[key]

    def _is_list_with_cuda(self, node: ast.AST) -> bool:
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return any(map(self._is_cuda, items)) and not any(map(self._is_vendor, items))
            case ast.Call(func=ast.Name(id="set" | "frozenset" | "tuple" | "list"), args=[inner]):
                return all(map(self._lists_cuda, self._flow.origins(inner)))
            case ast.BinOp(op=ast.Add() | ast.BitOr(), left=left, right=right):
                return self._holds_cuda(left) or self._holds_cuda(right)
        return False

    def _is_table(self, node: ast.expr) -> bool:
        return all(map(self._has_cuda_keys, self._flow.origins(node)))

    def _has_cuda_keys(self, node: ast.AST) -> bool:
        match node:
            case ast.Dict(keys=keys):
                return any(key is not None and self._is_cuda(key) for key in keys)
            case ast.Call(func=ast.Name(id="dict"), keywords=keywords, args=[]):
                return any(each.arg == self._words[0].cuda for each in keywords)
        return False

    def _is_only_read(self, container: ast.expr) -> bool:
        match container:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name not in self._flow.bindings.changed
        return True

    def _is_tuple_of_text(self, subject: ast.expr) -> bool:
        return isinstance(subject, ast.Tuple) and any(self._facts(each) & self._one for each in subject.elts)


def _at(place: tuple[Any, str, int]) -> Any:
    parent, field, index = place
    found = getattr(parent, field)
    return found if index < 0 else found[index]
