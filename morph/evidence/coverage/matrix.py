"""The coverage table of an interface's names and backends; each cell has a status and its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from morph.backends.tables import interfaces, table
from morph.backends.tables.decisions import ROOT
from morph.backends.tables.interfaces import Interface, is_private
from morph.backends.tables.table import Facts, Status, Table
from morph.evidence.coverage import evidence
from morph.evidence.coverage.evidence import Evidence, Rung, Seen


@dataclass(frozen=True, slots=True)
class Cell:
    """One name on one backend.

    Attributes:
        status: How the name is served.
        rung: The evidence for it.
        seen: What the tests saw of it, if they tried it.
        target: The vendor's object that serves it, if that has another name.
        note: The reason or the difference, in one clause.
    """

    status: Status
    rung: Rung
    seen: Seen | None
    target: str
    note: str


@dataclass(frozen=True, slots=True)
class Row:
    """One name on every backend.

    Attributes:
        name: The dotted name.
        module: The module that has it; its own name, if it is a top-level module.
        private: Whether it is private to its package, although programs ask for it.
        cells: By the backend's name.
    """

    name: str
    module: str
    private: bool
    cells: Mapping[str, Cell]

    def cell_json(self, backend: str) -> dict[str, str]:
        """Return the JSON form of a backend's cell."""
        cell = self.cells[backend]
        return {
            "status": cell.status.value,
            "rung": cell.rung.value,
            "seen": cell.seen.value if cell.seen else "",
            "target": cell.target,
            "note": cell.note,
        }

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints of it."""
        cells = {backend: self.cell_json(backend) for backend in self.cells}
        return {"name": self.name, "module": self.module, "private": self.private, "backends": cells}


@dataclass(frozen=True, slots=True)
class Matrix:
    """The coverage table of an interface.

    Attributes:
        interface: ``"torch.cuda"``, or a package's import name.
        release: Whose names they are, ``"torch 2.13.0"``.
        backends: The facts of each backend, in the order of the automatic choice.
        rows: In alphabetical order.
        shares: By the backend's name, the percentage of what projects use that is served, weighted by files;
            empty where they use none of it.
    """

    interface: str
    release: str
    backends: tuple[Facts, ...]
    rows: tuple[Row, ...]
    shares: Mapping[str, float]

    def cells(self, backend: str) -> Iterator[Cell]:
        """Yield the cells of the public names on a backend."""
        return (row.cells[backend] for row in self.rows if not row.private)

    def by_use(self, backend: str) -> str:
        """Return a backend's share as people read it."""
        return f"{self.shares[backend]:.2f} %" if self.shares else "none"

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints of it."""
        return {
            "interface": self.interface,
            "release": self.release,
            "backends": [
                {**backend_json(each), "share": self.shares.get(each.name)} for each in self.backends
            ],
            "names": [row.as_json() for row in self.rows],
        }


def build(backends: Sequence[str] = (), interface: str = ROOT) -> Matrix:
    """Build a table from the alias tables, the recorded surfaces, and the evidence of the tests.

    Args:
        backends: The backends to show; all unless given.
        interface: The interface; one of ``morph.backends.tables.interfaces.names()``.

    Raises:
        UnknownBackendError: If there is no such backend.
    """
    tables = [table.load(name) for name in backends or table.backend_names()]
    facts = tuple(each.facts for each in tables)
    found = interfaces.load(interface)
    rows = tuple(_rows(found, tables))
    used = _used(found)
    shares = {each.facts.name: _share(found, each, used) for each in tables} if used else {}
    return Matrix(found.name, found.release, facts, rows, shares)


def _used(interface: Interface) -> dict[str, int]:
    """Return in how many files public projects use each name of an interface."""
    used = interfaces.usage().items()
    return {name: files for name, files in used if interfaces.of(name) is interface and interface.has(name)}


def _share(interface: Interface, backend: Table, used: Mapping[str, int]) -> float:
    missing = (name for name in used if interface.decide(backend, name).status is Status.MISSING)
    return 100 - 100 * sum(used[name] for name in missing) / sum(used.values())


def backend_json(facts: Facts) -> dict[str, Any]:
    """Return the JSON form of a backend."""
    package = facts.distribution or "torch"
    return {"name": facts.name, "title": facts.title, "package": package, "releases": facts.releases}


def _rows(interface: Interface, tables: Sequence[Table]) -> Iterator[Row]:
    seen = evidence.shipped()
    for name in interface.names:
        cells = {each.facts.name: _cell(interface, each, name, seen) for each in tables}
        yield Row(name, _module(name, interface.modules), is_private(name), cells)


def _cell(interface: Interface, backend: Table, name: str, seen: Evidence) -> Cell:
    row = interface.decide(backend, name)
    target = row.target if row.status in (Status.RENAMED, Status.ADAPTED) else ""
    on = backend.facts.name
    return Cell(row.status, seen.rung(name, on), seen.seen(name, on), target, row.note)


def _module(name: str, modules: frozenset[str]) -> str:
    owner = name
    while "." in owner:
        owner = owner.rpartition(".")[0]
        if owner in modules:
            return owner
    return owner
