"""The coverage table: names and backends, each cell with a status and how it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from morph import surfaces
from morph.aliases import table
from morph.aliases.decisions import CUDA_SURFACE, decide
from morph.aliases.table import Facts, Status, Table
from morph.coverage import evidence
from morph.coverage.evidence import Evidence, Rung
from morph.coverage.names import cuda_names, is_private


@dataclass(frozen=True, slots=True)
class Cell:
    """One name on one backend.

    Attributes:
        status: How the name is served.
        rung: How that is known.
        target: What serves it, if that is something of the vendor's under another name.
        note: The reason or the difference, in one clause.
    """

    status: Status
    rung: Rung
    target: str
    note: str


@dataclass(frozen=True, slots=True)
class Row:
    """One name on every backend.

    Attributes:
        name: The dotted CUDA name.
        module: The module that has it.
        private: Whether it is private to torch, although programs ask for it.
        cells: By the backend's name.
    """

    name: str
    module: str
    private: bool
    cells: Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The coverage table.

    Attributes:
        torch: The release of torch whose names they are.
        backends: The facts of each backend, in the order of the automatic choice.
        rows: In alphabetical order.
    """

    torch: str
    backends: tuple[Facts, ...]
    rows: tuple[Row, ...]

    def count(self, backend: str) -> Counter[Status]:
        """Count the public names of each status on a backend."""
        return Counter(row.cells[backend].status for row in self.rows if not row.private)

    def count_rungs(self, backend: str) -> Counter[Rung]:
        """Count the public names of each rung of the ladder on a backend."""
        return Counter(row.cells[backend].rung for row in self.rows if not row.private)

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints and the page shows."""
        return {
            "torch": self.torch,
            "backends": [_backend_json(each) for each in self.backends],
            "statuses": [status.value for status in Status],
            "rungs": [rung.value for rung in Rung],
            "names": [_row_json(row) for row in self.rows],
        }


def build(backends: Sequence[str] = ()) -> Matrix:
    """Put the table together from the alias tables, the recorded surfaces, and the evidence of the tests.

    Args:
        backends: The backends to show; all unless given.

    Raises:
        UnknownBackendError: If there is no such backend.
    """
    tables = [table.load(name) for name in backends or table.backend_names()]
    seen = evidence.shipped()
    rows = []
    for name in cuda_names():
        cells = {each.facts.name: _cell(each, name, seen) for each in tables}
        rows.append(Row(name, _module(name), is_private(name), cells))
    return Matrix(seen.torch, tuple(each.facts for each in tables), tuple(rows))


def _cell(backend: Table, name: str, seen: Evidence) -> Cell:
    row = decide(backend, name)
    target = row.target if row.status in (Status.RENAMED, Status.ADAPTED) else ""
    return Cell(row.status, seen.rung(name, backend.facts.name), target, row.note)


def _module(name: str) -> str:
    modules = surfaces.load(CUDA_SURFACE).modules
    while "." in name:
        name = name.rpartition(".")[0]
        if name in modules:
            return name
    return name


def _backend_json(facts: Facts) -> dict[str, str]:
    return {
        "name": facts.name,
        "title": facts.title,
        "package": facts.distribution or "torch",
        "releases": facts.releases,
    }


def _row_json(row: Row) -> dict[str, Any]:
    cells = {
        name: {"status": cell.status.value, "rung": cell.rung.value, "target": cell.target, "note": cell.note}
        for name, cell in row.cells.items()
    }
    return {"name": row.name, "module": row.module, "private": row.private, "backends": cells}
