"""Expressions of ported source: what their text needs in its place, and the arguments of calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from morph.source.draft import Draft

_WITHOUT_PARENTHESES = (
    ast.AnnAssign,
    ast.Assert,
    ast.Assign,
    ast.BoolOp,
    ast.Call,
    ast.Expr,
    ast.FormattedValue,
    ast.If,
    ast.List,
    ast.Return,
    ast.Set,
    ast.Subscript,
    ast.Tuple,
    ast.While,
    ast.keyword,
)
_SPACE = re.compile(r"(?:\s|\\\n|#[^\n]*)*")


def is_none(node: ast.AST) -> bool:
    """Return whether an expression is ``None``."""
    return isinstance(node, ast.Constant) and node.value is None


def parenthesised(draft: Draft, new: str, was: ast.expr, around: ast.AST | None) -> str:
    """Return a comparison or a conditional expression with parentheses, if it needs any in a place.

    Args:
        draft: The module.
        new: The expression.
        was: The expression in whose place it comes, an atom.
        around: The node around that.
    """
    start, end = draft.places.span(was)
    if draft.text[:start].rstrip().endswith("(") and draft.text[end:].lstrip().startswith(")"):
        return new
    is_comparison = isinstance(ast.parse(f"({new})", mode="eval").body, ast.Compare)
    is_fine = isinstance(around, _WITHOUT_PARENTHESES) and was not in (
        getattr(around, "func", None),
        getattr(around, "value", None) if isinstance(around, ast.Subscript) else None,
    )
    if is_comparison and isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.Not):
        return new
    return new if is_fine and (is_comparison or not isinstance(around, ast.BoolOp)) else f"({new})"


@dataclass(frozen=True)
class Argument:
    """An argument of a call.

    Attributes:
        value: Its value.
        keyword: The name that it is passed by; empty for none.
        start: Where it begins in the text, with its name and parentheses.
        end: Where it ends.
        is_star: Whether it stands for any number of arguments.
    """

    value: ast.expr
    keyword: str
    start: int
    end: int
    is_star: bool


class Arguments:
    """The arguments of a call, to be changed in the draft of its module.

    Args:
        draft: The module.
        call: The call.
    """

    def __init__(self, draft: Draft, call: ast.Call) -> None:
        self._draft = draft
        self._opened = _opening(draft, call) + 1
        self.given = sorted(self._given(call), key=lambda each: each.start)
        self.are_known = not any(each.is_star for each in self.given)

    def _given(self, call: ast.Call) -> Iterator[Argument]:
        for each in call.args:
            start, end = self._draft.places.span(each)
            if isinstance(each, ast.Starred | ast.GeneratorExp):
                yield Argument(each, "", start, end, is_star=True)
            else:
                yield Argument(each, "", *self._with_parentheses(start, end), is_star=False)
        for named in call.keywords:
            start, end = self._draft.places.span(named)
            yield Argument(named.value, named.arg or "", start, end, is_star=named.arg is None)

    def _with_parentheses(self, start: int, end: int) -> tuple[int, int]:
        text = self._draft.text
        while True:
            before, after = len(text[self._opened : start].rstrip()), _SPACE.match(text, end)
            if not before or text[self._opened + before - 1] != "(" or not after or text[after.end()] != ")":
                return start, end
            start, end = self._opened + before - 1, after.end() + 1

    def named(self, name: str) -> Argument | None:
        """Return the argument that is passed by a name."""
        return next((each for each in self.given if each.keyword == name), None)

    def code(self, argument: Argument) -> str:
        """Return what the value of an argument has become."""
        return self._draft.code(argument.value)

    def set(self, argument: Argument, value: str) -> None:
        """Give an argument another value."""
        self._draft.replace(argument.value, value)

    def pass_by_name(self, argument: Argument, name: str) -> None:
        """Pass an argument by name, unless it is already."""
        if not argument.keyword:
            self._draft.insert(argument.start, f"{name}=")

    def pass_by_position(self, argument: Argument) -> None:
        """Pass an argument by its position."""
        if argument.keyword:
            name = re.compile(r"\w+\s*=\s*").match(self._draft.text, argument.start)
            assert name is not None
            self._draft.replace(name.span(), "")

    def add(self, first: Iterable[str] = (), last: Iterable[str] = ()) -> None:
        """Add arguments, given as text, before and after the others; empty texts are none."""
        before, after = ", ".join(filter(None, first)), ", ".join(filter(None, last))
        if not self.given:
            self._draft.insert(self._opened, ", ".join(filter(None, (before, after))))
            return
        if before:
            self._draft.insert(self.given[0].start, f"{before}, ")
        if after:
            self._draft.insert(self.given[-1].end, f", {after}")


def _opening(draft: Draft, call: ast.Call) -> int:
    """Return where the parenthesis with the arguments of a call is, behind those around its function."""
    index = draft.places.span(call.func)[1]
    while draft.text[index] != "(":
        space = _SPACE.match(draft.text, index)
        index = space.end() if space and space.end() > index else index + 1
    return index
