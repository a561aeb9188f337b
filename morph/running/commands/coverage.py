"""``morph coverage``: the names that work on each backend, and the evidence."""

from __future__ import annotations

import argparse
import json
import pathlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby

from rich.table import Table

from morph.backends.tables import interfaces
from morph.backends.tables.table import Facts, Status
from morph.base import display
from morph.evidence.coverage.evidence import Rung
from morph.evidence.coverage.matrix import Matrix, build

EXAMPLE = "coverage --html coverage.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    known = ", ".join(interfaces.names())
    parser.add_argument(
        "interface", nargs="*", metavar="INTERFACE", help=f"show the names of these only: {known}"
    )
    parser.add_argument("--backend", action="append", metavar="NAME", help="show this backend, name by name")
    parser.add_argument("--html", metavar="FILE", help="write it all as a page with search and filters")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write the requested file, else print a summary, or a backend's names.

    Raises:
        MorphError: If there is no such interface or backend.
    """
    chosen = arguments.interface or interfaces.names()
    matrices = [build(arguments.backend or (), name) for name in chosen]
    if arguments.html:
        from morph.evidence.coverage.page import page

        pathlib.Path(arguments.html).write_text(page(matrices), encoding="utf-8")
    if arguments.json:
        print(json.dumps({"interfaces": [each.as_json() for each in matrices]}, indent=1))
    elif not arguments.html:
        _print_names(matrices) if arguments.backend else _print_summary(matrices)
    return 0


def _print_summary(matrices: Sequence[Matrix]) -> None:
    screen = display.console()
    for matrix in matrices:
        public = sum(not row.private for row in matrix.rows)
        screen.print(f"[bold]{matrix.interface}[/], {matrix.release}: {public:,} names")
        screen.print(_statuses(matrix), "", "with this evidence:", _evidence(matrix), "", sep="\n")


def _statuses(matrix: Matrix) -> Table:
    def figures(facts: Facts) -> tuple[str, ...]:
        counts = Counter(cell.status for cell in matrix.cells(facts.name))
        return *(str(counts[status]) for status in Status), matrix.by_use(facts.name)

    titles = ("backend", *(status.value for status in Status), "by use")
    return _filled(display.columns(*titles), matrix, figures)


def _evidence(matrix: Matrix) -> Table:
    def figures(facts: Facts) -> tuple[str, ...]:
        counts = Counter(cell.rung for cell in matrix.cells(facts.name))
        return tuple(str(counts[rung]) for rung in Rung)

    return _filled(display.columns("backend", *(rung.value for rung in Rung)), matrix, figures)


def _filled(shown: Table, matrix: Matrix, figures: Callable[[Facts], tuple[str, ...]]) -> Table:
    for row, alike in groupby(matrix.backends, figures):
        shown.add_row(_called(list(alike), len(matrix.backends)), *row)
    return shown


def _called(alike: Sequence[Facts], of: int) -> str:
    """Return the names of the backends that have the same figures, of so many in all."""
    if len(alike) == of > 1:
        return "every backend"
    if len(alike) == 1:
        return f"{alike[0].name} ({alike[0].title})"
    return ", ".join(facts.name for facts in alike)


def _print_names(matrices: Sequence[Matrix]) -> None:
    screen = display.console()
    for matrix in matrices:
        shown = display.columns("name", "backend", "status", "evidence", "note")
        shown.columns[0].overflow, shown.columns[0].no_wrap = "fold", False  # some names are very long
        for row in matrix.rows:
            for name, cell in row.cells.items():
                note = ": ".join(filter(None, [cell.target, cell.note]))
                evidence = cell.rung.value + (f", {cell.seen.value}" if cell.seen else "")
                shown.add_row(row.name, name, cell.status.value, evidence, note)
        screen.print(shown)
