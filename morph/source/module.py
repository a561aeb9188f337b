"""A module's source: its tree, its text, and the places of the tree's nodes in it."""

from __future__ import annotations

import ast
import functools
import io
import itertools
import re
import tokenize
import warnings
from collections.abc import Sequence
from typing import NamedTuple


def parsed(source: bytes, path: str) -> ast.Module:
    """Return the tree of a module, suppressing the parser's warnings.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: If it is not Python, or nests too deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source, path)


def decoded(source: bytes) -> str:
    """Return the text of a module in the encoding that it declares, with its line ends unchanged."""
    return source.decode(encoding(source))


def encoding(source: bytes) -> str:
    """Return the encoding that a module declares."""
    return tokenize.detect_encoding(io.BytesIO(source).readline)[0]


class Place(NamedTuple):
    """The place of a use in a file; lines and columns begin at 1, columns count characters."""

    line: int
    column: int
    end_line: int
    end_column: int


class Places:
    """Locates the nodes of a module's tree.

    Args:
        text: The module's text.
    """

    def __init__(self, text: str) -> None:
        self._lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
        self._starts = [*itertools.accumulate(map(len, self._lines), initial=0)]
        self._columns = functools.cache(self._columns_of)

    def of(self, node: ast.AST) -> Place:
        """Return the place of an expression, a statement, a pattern, or an imported name."""
        assert isinstance(node, ast.expr | ast.stmt | ast.alias | ast.pattern | ast.keyword | ast.arg)
        line, end = node.lineno, node.end_lineno or node.lineno
        last = node.col_offset if node.end_col_offset is None else node.end_col_offset
        return Place(line, self._column(line, node.col_offset), end, self._column(end, last))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends in the text."""
        place = self.of(node)
        return self.index(place.line, place.column), self.index(place.end_line, place.end_column)

    def index(self, line: int, column: int = 1) -> int:
        """Return where a column of a line is in the text; the end for what is below the last line."""
        return self._starts[min(line, len(self._lines) + 1) - 1] + column - 1

    def _column(self, line: int, offset: int) -> int:
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return offset + 1 if text.isascii() else self._columns(line)[offset]

    def _columns_of(self, line: int) -> Sequence[int]:
        """Return the column of each byte of a line, since ast counts bytes of UTF-8."""
        text = self._lines[line - 1]
        counts = (len(character.encode()) for character in text)
        columns = (itertools.repeat(column, count) for column, count in enumerate(counts, 1))
        return [*itertools.chain.from_iterable(columns), len(text) + 1]
