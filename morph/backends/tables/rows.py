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
    """A backend's properties, from its table's ``[backend]`` section.

    Attributes:
        name: The name that users give, ``"npu"``.
        title: The name for people, ``"Huawei Ascend"``.
        device_type: torch's name of its device type.
        dispatch_key: torch's dispatch key of its kernels.
        module: The dotted name of its counterpart of ``torch.cuda``.
        collective: The process-group backend that stands for nccl.
        process_group: The dotted name of the class of those process groups, for ``ProcessGroupNCCL``.
        surface: The recorded surface that the table was checked against.
        vendor: The import name of the vendor's package; empty if torch itself has the device.
        distribution: The vendor's distribution on the package index.
        install: How the vendor's package, or such a torch, is installed; "{torch}" stands for the first two
            numbers of the installed torch.
        built: The name in ``torch.version`` that is not None where torch itself is built for the device.
        native_cuda: Whether torch.cuda itself drives this vendor's devices, so that morph serves none of it.
        software: Whether its devices are morph's software devices.
        releases: The vendor releases that the table was checked with.
        visible_devices: The environment variable that masks devices.
        visible_ascending: Whether that variable takes the devices' numbers in ascending order only.
        device_files: Patterns of the files that the vendor's driver creates for its devices.
        order: The position in the automatic choice, the lowest first.
        native: Packages that support this vendor themselves, and so must see the real device.
        rebound: Names that the vendor rebinds at run time, whose values are never cached.
        literals: Whether comparisons with CUDA literals in opted-in source accept this backend's spelling.
        formatless: Operators that refuse a memory format such as channels_last, and so get none.
        unreduced: Dtypes that the collectives' library does not reduce; torch's names of them.
        sparse_products: "by index" where the device multiplies no sparse matrix by a dense one.
    """

    name: str
    title: str
    device_type: str
    dispatch_key: str
    module: str
    collective: str
    process_group: str = ""
    surface: str = ""
    vendor: str = ""
    distribution: str = ""
    install: str = ""
    built: str = ""
    native_cuda: bool = False
    software: bool = False
    releases: str = ""
    visible_devices: str = ""
    visible_ascending: bool = False
    device_files: tuple[str, ...] = ()
    order: int = 100
    native: tuple[str, ...] = ()
    rebound: tuple[str, ...] = ()
    literals: bool = True
    formatless: tuple[str, ...] = ()
    unreduced: tuple[str, ...] = ()
    sparse_products: str = ""


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
