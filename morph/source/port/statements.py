"""Rewrites whole statements."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import libcst as cst

from morph.source.port.vocabulary import AVAILABLE, Vocabulary


class Statements:
    """Records the changes that expressions need in their statements, and makes them.

    Args:
        vocabulary: The module's vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._dropped: set[cst.CSTNode] = set()
        self._guarded: set[cst.CSTNode] = set()
        self._seeding: set[cst.CSTNode] = set()
        self._removed: set[cst.CSTNode] = set()
        self._guards: set[cst.CSTNode] = set()
        self._seeds: set[cst.CSTNode] = set()

    def drop(self, line: cst.SimpleStatementLine) -> None:
        """Remove a line."""
        self._dropped.add(line)

    def remove(self, statement: cst.BaseStatement) -> None:
        """Remove a statement, all of which has been rewritten."""
        self._removed.add(statement)

    def guard(self, line: cst.SimpleStatementLine) -> None:
        """Run a line only where there is an accelerator."""
        self._guarded.add(line)

    def seed(self, line: cst.SimpleStatementLine) -> None:
        """Drop a line if it repeats the line before it: one seed is for all devices."""
        self._seeding.add(line)

    def line(self, original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine) -> cst.BaseStatement:
        """Return the rewritten form of a line whose expressions have all been rewritten."""
        if original in self._dropped:
            self.remove(updated)
        if original in self._seeding:
            self._seeds.add(updated)
        return self._guard(updated) if original in self._guarded else updated

    def joined(self, body: Iterable[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """Return the statements of a block with neighbouring guards merged, and no seed twice."""
        found: list[cst.BaseStatement] = []
        blank = 0
        for statement in body:
            last = found[-1] if found else None
            if statement in self._removed or self._repeats(statement, last):
                blank = max(blank, _blank_lines(statement))
            elif last in self._guards and statement in self._guards and not leading_lines(statement):
                found[-1] = self._one_guard(last, statement)
            else:
                found.append(_after_blank_lines(statement, blank))
                blank = 0
        return found

    def _repeats(self, statement: cst.BaseStatement, last: cst.BaseStatement | None) -> bool:
        if statement not in self._seeds or not isinstance(last, cst.SimpleStatementLine):
            return False
        assert isinstance(statement, cst.SimpleStatementLine)
        return len(last.body) == 1 and statement.body[0].deep_equals(last.body[0])

    def _guard(self, line: cst.SimpleStatementLine) -> cst.If:
        test = cst.parse_expression(self._vocabulary.spelled(AVAILABLE))
        body = cst.IndentedBlock([line.with_changes(leading_lines=[])])
        guard = cst.If(test=test, body=body, leading_lines=line.leading_lines)
        self._guards.add(guard)
        return guard

    def _one_guard(self, first: cst.CSTNode | None, second: cst.CSTNode) -> cst.If:
        assert isinstance(first, cst.If)
        assert isinstance(second, cst.If)
        body = first.body.with_changes(body=[*first.body.body, *second.body.body])
        guard = first.with_changes(body=body)
        self._guards.add(guard)
        return guard


def leading_lines(statement: cst.BaseStatement) -> Sequence[cst.EmptyLine]:
    """Return the blank lines and comments before a statement."""
    return getattr(statement, "leading_lines", ())


def _blank_lines(statement: cst.BaseStatement) -> int:
    return len([*itertools.takewhile(lambda line: line.comment is None, leading_lines(statement))])


def _after_blank_lines(statement: cst.BaseStatement, count: int) -> cst.BaseStatement:
    """Return a statement after at least as many blank lines as the removed statement before it."""
    missing = count - _blank_lines(statement)
    if missing <= 0:
        return statement
    blank = [cst.EmptyLine(indent=False)] * missing
    return statement.with_changes(leading_lines=[*blank, *leading_lines(statement)])
