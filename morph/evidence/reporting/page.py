"""A report as one self-contained HTML page."""

from __future__ import annotations

import importlib.resources
import string
from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from morph.evidence.rehearsal.findings import Result, short

if TYPE_CHECKING:
    from morph.evidence.reporting import Circumstances

NAMES = "name", "count", "served", "first use", "note"
OPERATORS = "operator", "count"
NOTHING = "<p>None.</p>"


def page(found: Result, circumstances: Circumstances) -> str:
    """Return the HTML of a page with a search over the names."""
    template = (importlib.resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    processes = "1 process" if found.processes == 1 else f"{found.processes} processes"
    operators = sorted(found.operators.items(), key=lambda each: (-each[1], each[0]))
    return string.Template(template).substitute(
        program=escape(circumstances.program),
        ending=escape(_ending(found)),
        written=escape(circumstances.written),
        backend=escape(f"{found.backend} ({found.title}), in {processes}"),
        versions=escape(", ".join(f"{name} {version}" for name, version in circumstances.versions.items())),
        names=_table(NAMES, _names(found)),
        operators=_table(OPERATORS, (_row("operator", name, str(count)) for name, count in operators)),
    )


def _ending(found: Result) -> str:
    ending = found.ending
    if ending is None:
        return "normally"
    if ending.error == "SystemExit":
        return f"with exit status {ending.message}"
    place = f"at {short(ending.file)}:{ending.line}, " if ending.file else ""
    return f"{place}with {ending.error}: {ending.message}".removesuffix(": ")


def _names(found: Result) -> Iterator[str]:
    for each in found.findings:
        place = f"{short(each.use.file)}:{each.use.line}"
        yield _row(each.status.value, each.use.name, str(each.use.count), each.status.value, place, each.note)


def _table(titles: Iterable[str], rows: Iterable[str]) -> str:
    body = "\n".join(rows)
    if not body:
        return NOTHING
    head = "".join(f"<th>{escape(title)}" for title in titles)
    return f"<table>\n<thead><tr>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _row(kind: str, *cells: str) -> str:
    return f'<tr class="{escape(kind)}">{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
