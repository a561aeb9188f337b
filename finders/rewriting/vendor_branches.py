"""Finds the vendors whose devices a file itself distinguishes from CUDA's."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from morph.finders.rewriting.flow import DISPLAYS, Flow, called_name
from morph.finders.rewriting.literals import Word

METHODS = frozenset(
    {"startswith", "removeprefix", "replace", "find", "index", "count", "split", "partition", "strip"}
)
EQUALITIES = frozenset({"assertEqual", "assertEquals", "assertNotEqual"})
MEMBERSHIPS = frozenset({"assertIn", "assertNotIn"})
_DECIDING = METHODS | EQUALITIES | MEMBERSHIPS | {"get", "pop", "setdefault"}


def to_translate(flow: Flow, words: Iterable[Word]) -> list[Word]:
    """Return the words that the comparisons of a file should accept.

    A file that compares with a vendor's own word, or uses it for a look-up, was also written for that device:
    it must take that branch only. A list that also holds CUDA's word distinguishes nothing.
    """
    used = {"cuda"}  # devices are also compared without the literal
    compared: set[Word] = set()
    for node in flow.bindings.nodes:
        if isinstance(node, ast.Constant | ast.Attribute):
            used.update(word.cuda for word in words if word.is_cuda(node))
        else:
            for literal in _deciding(node, flow):
                compared.update(word for word in words if _tells(literal, word))
    return [word for word in words if word not in compared and word.cuda in used]


def _deciding(node: ast.AST, flow: Flow) -> Iterator[ast.AST]:
    """Yield the operands on which the decision of ``node`` depends."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            operands = [left, *comparators]
            yield from operands
            if any(map(flow.facts, operands)):
                for operand in operands:
                    yield from flow.origins(operand)
        case ast.MatchValue(value=value):
            yield value
        case ast.Dict(keys=keys):
            yield from filter(None, keys)
        case ast.Subscript(slice=index):
            yield index
        case ast.Call(func=ast.Attribute(), args=arguments) if called_name(node) in _DECIDING:
            yield from arguments


def _tells(literal: ast.AST, word: Word) -> bool:
    if isinstance(literal, DISPLAYS):
        return any(map(word.is_vendor, literal.elts)) and not any(map(word.is_cuda, literal.elts))
    return word.is_vendor(literal)
