"""A report as one self-contained HTML page."""

from __future__ import annotations

import importlib.resources
import string
from collections.abc import Iterator
from html import escape

from morph.rehearsal import Result
from morph.rehearsal.findings import short


def page(found: Result) -> str:
    """Return the HTML of a page with a search over the names."""
    template = (importlib.resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    processes = "1 process" if found.processes == 1 else f"{found.processes} processes"
    return string.Template(template).substitute(
        backend=escape(found.backend),
        title=escape(found.title),
        processes=processes,
        names="\n".join(_names(found)),
        operators="\n".join(
            _row("operator", name, str(count)) for name, count in sorted(found.operators.items())
        ),
    )


def _names(found: Result) -> Iterator[str]:
    for each in found.findings:
        place = f"{short(each.use.file)}:{each.use.line}"
        yield _row(each.status.value, each.use.name, str(each.use.count), each.status.value, place, each.note)


def _row(kind: str, *cells: str) -> str:
    return f'<tr class="{escape(kind)}">{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
