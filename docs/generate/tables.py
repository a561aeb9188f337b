"""Tables: Markdown from rows, and what a table needs to be read on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

WIDEST = 6  # a table of more columns is a matrix, which a phone scrolls
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
HEADING = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<td")
MARKUP = re.compile(r"<[^>]+>")


def table(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown; a bar in a cell is escaped."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", r"\|") for cell in line) + " |" for line in lines
    )


def labelled(html: str) -> str:
    """Return a page whose tables name the column of each cell, for the style sheet of narrow screens."""
    return TABLE.sub(lambda found: _labelled(found[0]), html)


def _labelled(table: str) -> str:
    names = [MARKUP.sub("", name) for name in HEADING.findall(table)]
    if len(names) > WIDEST:
        return table
    return ROW.sub(lambda row: _row(row[0], names), table.replace("<table>", "<table data-rows>", 1))


def _row(row: str, names: Sequence[str]) -> str:
    """Return a row whose cells have labels, but for the first one and for tables of two columns."""
    labels = iter(["", *names[1:]] if len(names) > 2 else [""] * len(names))
    return CELL.sub(lambda _: f'<td data-label="{name}"' if (name := next(labels)) else "<td", row)
