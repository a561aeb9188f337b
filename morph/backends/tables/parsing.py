"""The format of the alias tables, which ``aliases/README.md`` documents."""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_origin, get_type_hints

from morph.backends.tables import surfaces, variables
from morph.backends.tables.rows import Facts, Row, Status, Table
from morph.base import toml
from morph.base.errors import TableError

SHARED = "vendors.toml"
_SECTIONS = [status.value for status in Status]
_ADAPTER_KEYS = {"target", "adapter", "difference"}
_ADAPTER = re.compile(r"[\w.]+:[\w.]+")
_NAME = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_][\w]*)+")
_OPTIONAL = re.compile(r"\((\.\w+)\)")  # of a name with two spellings: "torch.cuda(.memory).memory_summary"
_RELEASE = re.compile(r"\d+(\.\d+)+(\.post\d+)?")
_DOTTED = ("module", "process_group")
_BACKEND = re.compile(r"^\[backend\]$.*?(?=^\[|\Z)", re.MULTILINE | re.DOTALL)


def parse(text: str, path: str) -> Table:
    """Read a table from TOML ``text``; error messages name ``path``.

    Raises:
        TableError: If the text or a row of it is malformed.
    """
    try:
        document = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise TableError(path, _line_of_syntax_error(error), "not TOML", str(error)) from None
    source = _Source(path, text.splitlines())
    facts = _facts(document.pop("backend", {}), source)
    environment = variables.read(document.pop("environment", {}), source.fail)
    since, until = document.pop("since", {}), document.pop("until", {})
    own, shared = _rows(document, source), _shared_rows() if facts.shared_rows else {}
    rows = {**own, **shared, **own}  # its own first
    begun, ended = _limits("begin", since, rows, source), _limits("end", until, rows, source)
    return Table(facts, rows, environment, until=dict(ended), since=dict(begun))


def _rows(document: dict[str, Any], source: _Source) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for section, entries in document.items():
        for row in _section(section, entries, source):
            if row.name in rows:
                source.fail(row.name, f"has two statuses, {rows[row.name].status.value} and {section}")
            rows[row.name] = row
    return rows


@functools.cache
def _shared_rows() -> dict[str, Row]:
    text = (importlib.resources.files("morph.aliases.adapters") / SHARED).read_text(encoding="utf-8")
    return _rows(toml.loads(text), _Source(SHARED, text.splitlines()))


def parse_facts(text: str, path: str) -> Facts:
    """Read the section ``[backend]`` of a table alone, which takes a tenth of the time.

    Raises:
        TableError: If it is malformed.
    """
    section = _BACKEND.search(text)
    try:
        document = toml.loads(section[0] if section else "")
    except toml.TOMLDecodeError:  # the whole text gives the number of the line
        return parse(text, path).facts
    return _facts(document.get("backend", {}), _Source(path, text.splitlines()))


class _Source(NamedTuple):
    path: str
    lines: list[str]

    def fail(self, row: str, problem: str) -> None:
        raise TableError(self.path, self._line(row), row, problem)

    def _line(self, row: str) -> int:
        begins = re.compile(rf"\W*{re.escape(row)}(\W|$)")
        return max((n for n, line in enumerate(self.lines, 1) if begins.match(line)), default=1)


def _line_of_syntax_error(error: toml.TOMLDecodeError) -> int:
    found = re.search(r"line (\d+)", str(error))
    return int(found[1]) if found else 1


def _facts(section: Any, source: _Source) -> Facts:
    known = _types_of_facts()
    if not isinstance(section, dict):
        source.fail("backend", f"{section!r} should be a section")
    for key, value in section.items():
        if key not in known:
            source.fail(key, f"unknown key of [backend]; the keys are {', '.join(known)}")
        if type(value) is not known[key]:  # a bool is an int, but no number
            source.fail(key, f"{value!r} should be {known[key].__name__}")
        if isinstance(value, list) and not all(isinstance(each, str) for each in value):
            source.fail(key, f"{value!r} should be a list of strings")
        if key in _DOTTED and not _NAME.fullmatch(value):
            source.fail(key, f"{value!r} is not a dotted name")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in section.items()
    }
    try:
        return Facts(**values)
    except TypeError as error:
        source.fail("backend", str(error).replace("Facts.__new__()", "section"))
        raise


@functools.cache
def _types_of_facts() -> dict[str, type]:
    """Return the type that each fact has in TOML, where a tuple is a list."""
    hints = get_type_hints(Facts)
    return {name: list if get_origin(hint) is tuple else hint for name, hint in hints.items()}


def _section(section: str, entries: Any, source: _Source) -> Iterator[Row]:
    if section not in _SECTIONS:
        known = ", ".join(["backend", "environment", "since", "until", *_SECTIONS])
        source.fail(section, f"unknown section; the sections are {known}")
    if not isinstance(entries, dict):
        source.fail(section, "should be a section of rows")
    for key, entry in entries.items():
        for name in dict.fromkeys((_OPTIONAL.sub("", key), _OPTIONAL.sub(r"\1", key))):
            if not _NAME.fullmatch(name):
                source.fail(key, 'is not a dotted name; quote it: "torch.cuda.name"')
            yield _row(Status(section), name, entry, source)


def _row(status: Status, name: str, entry: Any, source: _Source) -> Row:
    match status:
        case Status.RENAMED:
            return Row(name, status, target=_target(name, entry, source))
        case Status.ADAPTED | Status.EMULATED:
            return _adapted(status, name, entry, source)
        case Status.NOOP:
            return _noop(name, entry, source)
    reason = _text(name, entry, source, "the reason")
    return Row(name, status, target=name if status is Status.SAME else "", note=reason)


def _limits(
    what: str, section: Any, rows: dict[str, Row], source: _Source
) -> Iterator[tuple[str, tuple[int, ...]]]:
    if not isinstance(section, dict):
        source.fail("since" if what == "begin" else "until", f"{section!r} should be a section")
    for release, names in section.items():
        if not _RELEASE.fullmatch(release) or not isinstance(names, list):
            source.fail(release, 'should be a release and the names of rows: "2.9" = ["torch.cuda.name"]')
        for name in names:
            if not isinstance(name, str) or name not in rows:
                source.fail(release, f"{name} has no row that could {what}")
            yield name, surfaces.numbers(release)


def _text(name: str, entry: Any, source: _Source, what: str) -> str:
    if not isinstance(entry, str) or not entry:
        source.fail(name, f"{entry!r} should be {what}, a string")
    return str(entry)


def _target(name: str, entry: Any, source: _Source) -> str:
    target = _text(name, entry, source, "the target")
    if not _NAME.fullmatch(target):
        source.fail(name, f"target {target!r} is not a dotted name")
    return target


def _adapted(status: Status, name: str, entry: Any, source: _Source) -> Row:
    if not isinstance(entry, dict) or "adapter" not in entry or not entry.keys() <= _ADAPTER_KEYS:
        source.fail(name, 'should be { adapter = "module:object", target = "...", difference = "..." }')
    if not _ADAPTER.fullmatch(str(entry["adapter"])):
        source.fail(name, f"adapter {entry['adapter']!r} is not of the form package.module:object")
    target = _target(name, entry["target"], source) if "target" in entry else ""
    difference = _text(name, entry["difference"], source, "the difference") if "difference" in entry else ""
    return Row(name, status, target, entry["adapter"], difference)


def _noop(name: str, entry: Any, source: _Source) -> Row:
    if isinstance(entry, dict) and entry.keys() == {"value", "note"}:
        note = _text(name, entry["note"], source, "the note")
        return Row(name, Status.NOOP, note=note, value=entry["value"])
    note = _text(name, entry, source, 'the reason, or { value = ..., note = "..." }')
    return Row(name, Status.NOOP, note=note)
