"""Alias tables: which target serves a CUDA name on a backend, and how.

The format is documented in this folder's README.
"""

from __future__ import annotations

import enum
import functools
import importlib.resources
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any

from morph.errors import TableError, UnknownBackendError


class Status(enum.Enum):
    """How a CUDA name is served on a backend."""

    SAME = "same"
    RENAMED = "renamed"
    ADAPTED = "adapted"
    EMULATED = "emulated"
    NOOP = "noop"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Row:
    """One CUDA name's entry in a table.

    Attributes:
        name: The CUDA-side dotted name, ``torch.cuda.memory_allocated``.
        status: How it is served.
        target: The dotted name of what serves it; empty for rows that need none.
        adapter: ``"package.module:object"`` of the behaviour; empty where a rename is enough.
        note: The reason or the difference, in one clause.
        value: What a ``noop`` returns.
    """

    name: str
    status: Status
    target: str = ""
    adapter: str = ""
    note: str = ""
    value: Any = None


@dataclass(frozen=True, slots=True)
class Facts:
    """A backend's properties, from its table's ``[backend]`` section.

    Attributes:
        name: What the user calls it, ``"npu"``.
        title: What people call it, ``"Huawei Ascend"``.
        device_type: torch's name of its device type.
        dispatch_key: torch's dispatch key of its kernels.
        module: The dotted name of its counterpart of ``torch.cuda``.
        collective: The process-group backend that stands for nccl.
        surface: The recorded surface that the table was checked against.
        vendor: The import name of the vendor's package; empty if torch itself has the device.
        distribution: The vendor's distribution on the package index.
        built: The name in ``torch.version`` that is not None where torch itself is built for the device.
        native_cuda: Whether torch.cuda itself drives this vendor's devices, so that none of it is served.
        releases: The vendor releases that the table was checked with.
        visible_devices: The environment variable that masks devices.
        order: Place in the automatic choice, the lowest first.
        native: Packages that support this vendor themselves, and so must see the truth.
        rebound: Names that the vendor rebinds while it runs, whose values are never kept.
        literals: Whether opted-in source compares CUDA literals with this backend's spelling too.
    """

    name: str
    title: str
    device_type: str
    dispatch_key: str
    module: str
    collective: str
    surface: str = ""
    vendor: str = ""
    distribution: str = ""
    built: str = ""
    native_cuda: bool = False
    releases: str = ""
    visible_devices: str = ""
    order: int = 100
    native: tuple[str, ...] = ()
    rebound: tuple[str, ...] = ()
    literals: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """One backend's facts and rows."""

    facts: Facts
    rows: Mapping[str, Row] = field(default_factory=dict)

    def row(self, name: str) -> Row | None:
        """Return the row that decides ``name``: its own, else that of the nearest module that covers it."""
        own = self.rows.get(name)
        return own or next(filter(None, map(self._covering, _parents(name))), None)

    def _covering(self, parent: str) -> Row | None:
        row = self.rows.get(parent)
        covers = row is not None and row.status in (Status.MISSING, Status.SAME, Status.NOOP)
        return row if covers else None


_SECTIONS = [status.value for status in Status]
_ADAPTER_KEYS = {"target", "adapter", "difference"}
_ADAPTER = re.compile(r"[\w.]+:[\w.]+")
_NAME = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_][\w]*)+")


def backend_names() -> list[str]:
    """Return the names of the backends that have a table, in the order of the automatic choice."""
    return sorted(_files(), key=lambda name: (load(name).facts.order, name))


@functools.cache
def load(name: str) -> Table:
    """Read the table of the backend called ``name``.

    Raises:
        UnknownBackendError: If there is no such table.
        TableError: If a row of it is malformed; names the file, the line and the row.
    """
    files = _files()
    if name not in files:
        raise UnknownBackendError(name, sorted(files))
    return parse(files[name].read_text(encoding="utf-8"), f"aliases/{name}.toml")


def parse(text: str, path: str) -> Table:
    """Read a table from TOML ``text``; ``path`` is what errors call it.

    Raises:
        TableError: If the text or a row of it is malformed.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableError(path, _line_of_syntax_error(error), "not TOML", str(error)) from None
    source = _Source(path, text.splitlines())
    facts = _facts(document.pop("backend", {}), source)
    rows: dict[str, Row] = {}
    for section, entries in document.items():
        for row in _section(section, entries, source):
            if row.name in rows:
                source.fail(row.name, f"has two statuses, {rows[row.name].status.value} and {section}")
            rows[row.name] = row
    return Table(facts, rows)


def _files() -> dict[str, Traversable]:
    folder = importlib.resources.files("morph.aliases")
    tables = (entry for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {entry.name.removesuffix(".toml"): entry for entry in tables}


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


@dataclass(frozen=True, slots=True)
class _Source:
    path: str
    lines: list[str]

    def fail(self, row: str, problem: str) -> None:
        raise TableError(self.path, self._line(row), row, problem)

    def _line(self, row: str) -> int:
        begins = re.compile(rf"\W*{re.escape(row)}(\W|$)")
        return max((n for n, line in enumerate(self.lines, 1) if begins.match(line)), default=1)


def _line_of_syntax_error(error: tomllib.TOMLDecodeError) -> int:
    found = re.search(r"line (\d+)", str(error))
    return int(found[1]) if found else 1


def _facts(section: Any, source: _Source) -> Facts:
    known = dict(Facts.__annotations__)
    for key, value in section.items():
        if key not in known:
            source.fail(key, f"unknown key of [backend]; the keys are {', '.join(known)}")
        if not isinstance(value, _PYTHON_TYPE[known[key]]):
            source.fail(key, f"{value!r} should be {known[key]}")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in section.items()
    }
    try:
        return Facts(**values)
    except TypeError as error:
        source.fail("backend", str(error).replace("Facts.__init__()", "section"))
        raise


_PYTHON_TYPE = {"str": str, "int": int, "bool": bool, "tuple[str, ...]": list}


def _section(section: str, entries: Any, source: _Source) -> Iterator[Row]:
    if section not in _SECTIONS:
        source.fail(section, f"unknown section; the sections are backend, {', '.join(_SECTIONS)}")
    if not isinstance(entries, dict):
        source.fail(section, "should be a section of rows")
    for name, entry in entries.items():
        if not _NAME.fullmatch(name):
            source.fail(name, 'is not a dotted name; quote it: "torch.cuda.name"')
        yield _READERS[Status(section)](name, entry, source)


def _text(name: str, entry: Any, source: _Source, what: str) -> str:
    if not isinstance(entry, str) or not entry:
        source.fail(name, f"{entry!r} should be {what}, a string")
    return str(entry)


def _same(name: str, entry: Any, source: _Source) -> Row:
    return Row(name, Status.SAME, target=name, note=_text(name, entry, source, "the reason"))


def _renamed(name: str, entry: Any, source: _Source) -> Row:
    target = _text(name, entry, source, "the target")
    if not _NAME.fullmatch(target):
        source.fail(name, f"target {target!r} is not a dotted name")
    return Row(name, Status.RENAMED, target=target)


def _adapted(name: str, entry: Any, source: _Source, status: Status = Status.ADAPTED) -> Row:
    if not isinstance(entry, dict) or "adapter" not in entry or not entry.keys() <= _ADAPTER_KEYS:
        source.fail(name, 'should be { adapter = "module:object", target = "...", difference = "..." }')
    if not _ADAPTER.fullmatch(str(entry["adapter"])):
        source.fail(name, f"adapter {entry['adapter']!r} is not of the form package.module:object")
    return Row(name, status, entry.get("target", ""), entry["adapter"], entry.get("difference", ""))


def _emulated(name: str, entry: Any, source: _Source) -> Row:
    return _adapted(name, entry, source, Status.EMULATED)


def _noop(name: str, entry: Any, source: _Source) -> Row:
    if isinstance(entry, dict) and entry.keys() == {"value", "note"}:
        return Row(name, Status.NOOP, note=entry["note"], value=entry["value"])
    return Row(
        name, Status.NOOP, note=_text(name, entry, source, 'the reason, or { value = ..., note = "..." }')
    )


def _missing(name: str, entry: Any, source: _Source) -> Row:
    return Row(name, Status.MISSING, note=_text(name, entry, source, "the reason"))


_READERS = {
    Status.SAME: _same,
    Status.RENAMED: _renamed,
    Status.ADAPTED: _adapted,
    Status.EMULATED: _emulated,
    Status.NOOP: _noop,
    Status.MISSING: _missing,
}
