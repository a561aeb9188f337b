"""Coverage tables as one self-contained HTML page."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Sequence
from typing import Any

from morph.backends.tables.table import Status
from morph.evidence.coverage.evidence import Rung
from morph.evidence.coverage.matrix import Matrix, Row, backend_json


def page(matrices: Sequence[Matrix]) -> str:
    """Return the HTML of a page with search and filters.

    Args:
        matrices: The interfaces' tables to choose from, all with the same backends; the first is shown first.
    """
    data = json.dumps(_data(matrices), separators=(",", ":")).replace("</", "<\\/")
    text = _part("page.html")
    for place, content in (("STYLE", _part("page.css")), ("SCRIPT", _part("page.js")), ("DATA", data)):
        text = text.replace(f"{{{{{place}}}}}", content)
    return text


def _data(matrices: Sequence[Matrix]) -> dict[str, Any]:
    cells = _Distinct()
    return {
        "backends": [backend_json(each) for each in matrices[0].backends],
        "statuses": [status.value for status in Status],
        "rungs": [rung.value for rung in Rung],
        "interfaces": [_interface(each, cells) for each in matrices],
        "cells": [value for _, value in cells.cells.values()],
        "rows": [value for _, value in cells.rows.values()],
    }


def _interface(matrix: Matrix, cells: _Distinct) -> dict[str, Any]:
    modules = sorted({row.module for row in matrix.rows})
    places = {module: place for place, module in enumerate(modules)}
    return {
        "interface": matrix.interface,
        "release": matrix.release,
        "shares": {facts.name: matrix.by_use(facts.name) for facts in matrix.backends},
        "modules": modules,
        "names": [[_short(row), places[row.module], int(row.private), cells.of(row)] for row in matrix.rows],
    }


def _short(row: Row) -> str:
    """Return a name without its module; empty for a top-level module."""
    return row.name.removeprefix(row.module).removeprefix(".")


class _Distinct:
    """The distinct cells, and the distinct rows of indices into them: most rows are repeated."""

    def __init__(self) -> None:
        self.cells: dict[str, tuple[int, Any]] = {}
        self.rows: dict[str, tuple[int, Any]] = {}

    def of(self, row: Row) -> int:
        """Return the index of the row of a name's cells."""
        return _place(self.rows, [_place(self.cells, row.cell_json(backend)) for backend in row.cells])


def _place(known: dict[str, tuple[int, Any]], value: Any) -> int:
    """Return the index of a value among those that are known, to which it is added if it is new."""
    return known.setdefault(repr(value), (len(known), value))[0]


def _part(name: str) -> str:
    return (importlib.resources.files(__package__) / "html" / name).read_text(encoding="utf-8")
