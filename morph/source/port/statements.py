"""Rewrites whole statements."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Sequence

from morph.backends.tables import table
from morph.backends.visibility import CUDA_VARIABLE
from morph.source.draft import Draft
from morph.source.port.source import Source
from morph.source.port.vocabulary import AVAILABLE, Vocabulary
from morph.source.scan.uses import Kind, Use

_SEEDS = ("torch.manual_seed", "torch.seed")
_BLANK = re.compile(r"[ \t\f]*\n")


class Statements:
    """Records the changes that expressions need in their statements, and makes them.

    Args:
        source: The module.
        vocabulary: The module's vocabulary.

    Attributes:
        dropped: The lines to remove.
        guarded: The lines to run only where there is an accelerator.
    """

    def __init__(self, source: Source, vocabulary: Vocabulary) -> None:
        self._source = source
        self._vocabulary = vocabulary
        self.dropped: set[ast.stmt] = set()
        self.guarded: set[ast.stmt] = set()
        self._seeds: set[ast.stmt] = set()
        nodes = source.resolution.scopes.of
        indented = (each for each in nodes if isinstance(each, ast.stmt) and each.col_offset)
        outermost = min(indented, key=lambda each: each.col_offset, default=None)
        before = source.draft.line_of(source.draft.places.span(outermost)[0]) if outermost else ""
        self._indentation = before if before.isspace() else "    "

    def called(self, name: str, line: ast.stmt) -> None:
        """Note what a line calls: one seed is for all devices, and is dropped if it repeats the last."""
        if name in _SEEDS:
            self._seeds.add(line)

    def block(self, body: list[ast.stmt]) -> None:
        """Make the changes to the statements of a block, with one guard around neighbours."""
        if not {*body} & (self.dropped | self.guarded | self._seeds):
            return
        kept: ast.stmt | None = None
        dropped, end = [], 0
        for statement in body:
            is_next, end = statement.lineno == end + 1, statement.end_lineno or 0
            if statement in self.dropped or self._repeats(statement, kept):
                dropped.append(statement)
                continue
            if statement in self.guarded:
                self._guard(statement, is_inside=is_next and kept in self.guarded)
            kept = statement
        remove(self._source.draft, dropped, body)

    def _repeats(self, statement: ast.stmt, last: ast.stmt | None) -> bool:
        code = self._source.draft.code
        return statement in self._seeds and isinstance(last, ast.Expr) and code(statement) == code(last)

    def _guard(self, statement: ast.stmt, is_inside: bool) -> None:
        start, _ = self._source.draft.places.span(statement)
        guard = f"if {self._vocabulary.spelled(AVAILABLE)}:\n"
        before = self._source.draft.line_of(start)
        indentation = self._indentation if is_inside else f"{guard}{before}{self._indentation}"
        self._source.draft.insert(start, indentation)


def remove(draft: Draft, statements: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> None:
    """Remove statements in lines of their own, with a ``pass`` for an indented block of nothing else."""
    for statement in statements:
        is_last = len(statements) == len(body) and statement is body[-1]
        if is_last and draft.line_of(draft.places.span(statement)[0]):
            draft.replace(statement, "pass")
        else:
            draft.replace(_lines(draft, statement), "")


def _lines(draft: Draft, statement: ast.stmt) -> tuple[int, int]:
    """Return where the lines of a statement are, with the blank ones behind it that are before it too."""
    start = draft.places.index(statement.lineno)
    end = draft.places.index((statement.end_lineno or 0) + 1)
    above, below = _blank_before(draft.text, start), _BLANK.match(draft.text, end)
    while above is not None and below:
        end = below.end()
        above, below = _blank_before(draft.text, above), _BLANK.match(draft.text, end)
    return start, end


def _blank_before(text: str, index: int) -> int | None:
    """Return where the blank line before a line begins; None if the line before it is not blank."""
    before = text[:index].removesuffix("\n")
    start = before.rfind("\n") + 1
    return start if index and not before[start:].strip() else None


def set_everywhere(source: Source, assignment: ast.Assign) -> Use | None:
    """Set every vendor's variable where ``os.environ["CUDA_VISIBLE_DEVICES"]`` is set.

    Args:
        source: The module, whose draft is changed.
        assignment: An assignment in it.

    Returns:
        The use; None if it assigns another variable.
    """
    match assignment.targets:
        case [ast.Subscript(value=environment) as target]:
            for use in source.uses_at(target, Kind.VARIABLE):
                if use.name == CUDA_VARIABLE:
                    holder, value = map(source.draft.code, (environment, assignment.value))
                    became = f"{holder}.update(dict.fromkeys(({', '.join(_variables())}), {value}))"
                    source.draft.replace(assignment, became)
                    return use
    return None


@functools.cache
def _variables() -> tuple[str, ...]:
    """Return the variables that choose devices, in quotation marks, CUDA's first."""
    vendors = (table.facts(name).visible_devices for name in table.backend_names())
    return tuple(f'"{name}"' for name in dict.fromkeys([CUDA_VARIABLE, *filter(None, vendors)]))
