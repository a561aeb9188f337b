"""Expressions of ported source, built from text and from parts of the original."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst import matchers

from morph.source.port.replacements import Replacement

_WITHOUT_PARENTHESES = (
    cst.AnnAssign,
    cst.Arg,
    cst.Assert,
    cst.Assign,
    cst.AssignTarget,
    cst.BooleanOperation,
    cst.Element,
    cst.Expr,
    cst.FormattedStringExpression,
    cst.If,
    cst.Index,
    cst.Return,
    cst.While,
)


def parse(text: str) -> cst.BaseExpression:
    """Return the expression of ``text``."""
    return cst.parse_expression(text)


def is_none(node: cst.CSTNode) -> bool:
    """Return whether an expression is ``None``."""
    return isinstance(node, cst.Name) and node.value == "None"


def has_comment(node: cst.CSTNode) -> bool:
    """Return whether there is a comment inside a dotted name, which its replacement would lose."""
    return isinstance(node, cst.Attribute) and bool(matchers.findall(node, matchers.Comment()))


def parenthesised(
    node: cst.BaseExpression, around: cst.CSTNode | None, was: cst.BaseExpression
) -> cst.BaseExpression:
    """Return ``node``, with parentheses if it needs any in place of ``was``, which is an atom.

    Args:
        node: A comparison or a conditional expression.
        around: The node around ``was``.
        was: The replaced expression.
    """
    if was.lpar:
        return node.with_changes(lpar=was.lpar, rpar=was.rpar)
    is_comparison = isinstance(node, cst.Comparison)
    is_fine = isinstance(around, _WITHOUT_PARENTHESES) or (
        is_comparison and isinstance(around, cst.UnaryOperation) and isinstance(around.operator, cst.Not)
    )
    if is_fine and (is_comparison or not isinstance(around, cst.BooleanOperation)):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def arguments(
    given: Sequence[cst.Arg], replacement: Replacement, first: str, last: str
) -> list[cst.Arg] | None:
    """Return the arguments of a call in its replacement's form; None if that is unknown.

    Args:
        given: The call's arguments.
        replacement: The replacement.
        first: The text of the replacement's leading arguments; empty for none.
        last: The text of its trailing arguments.
    """
    if replacement.pass_by and any(each.star for each in given):
        return None
    passed = [*given]
    if replacement.pass_by == "position":
        passed = [_by_position(each) for each in given]
        if len(given) > len(replacement.parameters):
            return None
    elif replacement.pass_by == "name":
        if sum(each.keyword is None for each in given) > len(replacement.parameters):
            return None
        passed = [named(each, name) for each, name in zip(given, _names(replacement, given), strict=True)]
    return joined([*_argument(first), *passed, *_argument(last)])


def _by_position(argument: cst.Arg) -> cst.Arg:
    return argument.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)


def named(argument: cst.Arg, name: str) -> cst.Arg:
    """Return ``argument`` passed by ``name``, if it is not passed by name already."""
    if argument.keyword is not None:
        return argument
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return argument.with_changes(keyword=cst.Name(name), equal=equal)


def _names(replacement: Replacement, given: Sequence[cst.Arg]) -> list[str]:
    """Return the parameter of each argument; any for one that is passed by name."""
    return [*replacement.parameters, *[""] * len(given)][: len(given)]


def _argument(text: str) -> list[cst.Arg]:
    if not text:
        return []
    call = cst.parse_expression(f"f({text})")
    assert isinstance(call, cst.Call)
    return [*call.args]


def joined(passed: Sequence[cst.Arg]) -> list[cst.Arg]:
    """Return ``passed`` with a comma after each but the last, which keeps its own."""
    space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    return [
        each.with_changes(comma=space)
        if not isinstance(each.comma, cst.Comma) and each is not passed[-1]
        else each
        for each in passed
    ]
