"""``morph coverage``: which CUDA names work on which backend, and how that is known."""

from __future__ import annotations

import argparse
import json
import pathlib

from morph import display
from morph.aliases.table import Status
from morph.coverage.evidence import Rung
from morph.coverage.matrix import Matrix, build

EXAMPLE = "coverage --html coverage.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--backend", action="append", metavar="NAME", help="show this one, name by name")
    parser.add_argument("--markdown", metavar="FILE", help="write the whole table as Markdown")
    parser.add_argument("--html", metavar="FILE", help="write it as a page with search and filters")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write what is asked for, else print a summary, or a backend's names."""
    matrix = build(arguments.backend or ())
    if arguments.markdown:
        from morph.coverage.markdown import markdown

        pathlib.Path(arguments.markdown).write_text(markdown(matrix), encoding="utf-8")
    if arguments.html:
        from morph.coverage.page import page

        pathlib.Path(arguments.html).write_text(page(matrix), encoding="utf-8")
    if arguments.json:
        print(json.dumps(matrix.as_json(), indent=1))
    elif not (arguments.markdown or arguments.html):
        _print_names(matrix) if arguments.backend else _print_summary(matrix)
    return 0


def _print_summary(matrix: Matrix) -> None:
    shown = display.columns("backend", *(status.value for status in Status), *(rung.value for rung in Rung))
    for facts in matrix.backends:
        statuses, rungs = matrix.count(facts.name), matrix.count_rungs(facts.name)
        figures = [*(statuses[status] for status in Status), *(rungs[rung] for rung in Rung)]
        shown.add_row(f"{facts.name} ({facts.title})", *map(str, figures))
    display.console().print(shown)


def _print_names(matrix: Matrix) -> None:
    shown = display.columns("name", "backend", "status", "evidence", "note")
    for row in matrix.rows:
        for name, cell in row.cells.items():
            note = ": ".join(filter(None, [cell.target, cell.note]))
            shown.add_row(row.name, name, cell.status.value, cell.rung.value, note)
    display.console().print(shown)
