"""The contents of an alias table: a backend's facts, and one row for each CUDA name."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from morph.backends.tables.variables import Variable


class Status(enum.Enum):
    """The ways of serving a CUDA name on a backend."""

    SAME = "same"
    RENAMED = "renamed"
    ADAPTED = "adapted"
    EMULATED = "emulated"
    NOOP = "noop"
    MISSING = "missing"


class Row(NamedTuple):
    """One CUDA name's entry in a table.

    Attributes:
        name: The CUDA-side dotted name, ``torch.cuda.memory_allocated``.
        status: How it is served.
        target: The dotted name of what serves it; empty for rows that need none.
        adapter: ``"package.module:object"`` of the implementation; empty where a rename is enough.
        note: The reason or the difference, in one clause.
        value: The value that a ``noop`` returns.
    """

    name: str
    status: Status
    target: str = ""
    adapter: str = ""
    note: str = ""
    value: Any = None


class Facts(NamedTuple):
    """A backend's properties: the keys of a table's ``[backend]``, which ``aliases/README.md`` documents."""

    name: str
    title: str
    device_type: str
    dispatch_key: str
    module: str
    collective: str
    process_group: str = ""
    surface: str = ""
    vendor: str = ""
    loader: str = ""
    distribution: str = ""
    install: str = ""
    built: str = ""
    native_cuda: bool = False
    software: bool = False
    releases: str = ""
    visible_devices: str = ""
    visible_ascending: bool = False
    device_files: tuple[str, ...] = ()
    pci_devices: tuple[str, ...] = ()
    order: int = 100
    shared_rows: bool = False
    native: tuple[str, ...] = ()
    rebound: tuple[str, ...] = ()
    formatless: tuple[str, ...] = ()
    unreduced: tuple[str, ...] = ()
    sparse_products: str = ""
    host_kernels: bool = False
    own_device: bool = False
    unordered_copies: bool = False
    exhausted: str = ""
    watcher: str = ""


class Table(NamedTuple):
    """One backend's facts and rows, and its handling of CUDA's environment variables.

    Attributes:
        facts: Of the backend.
        rows: By their CUDA names.
        environment: By the names of CUDA's variables.
        until: The first release of the vendor's package, as its numbers, for which a row is not needed.
        since: The first release for which a row is needed.
    """

    facts: Facts
    rows: Mapping[str, Row] = MappingProxyType({})
    environment: Mapping[str, Variable] = MappingProxyType({})
    until: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    since: Mapping[str, tuple[int, ...]] = MappingProxyType({})

    def at(self, release: tuple[int, ...]) -> Table:
        """Return the table for one release of the vendor's package, as its numbers."""
        ended = {name for name, first in self.until.items() if first <= release}
        not_begun = {name for name, first in self.since.items() if first > release}
        needless = ended | not_begun
        return self._replace(rows={name: row for name, row in self.rows.items() if name not in needless})

    def row(self, name: str) -> Row | None:
        """Return the row for ``name``: its own, else that of the nearest parent module."""
        own = self.rows.get(name)
        return own or next(filter(None, map(self._covering, _parents(name))), None)

    def _covering(self, parent: str) -> Row | None:
        row = self.rows.get(parent)
        covers = row is not None and row.status in (Status.MISSING, Status.SAME, Status.NOOP)
        return row if covers else None


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name
