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
    cells = _Cells()
    return {
        "backends": [backend_json(each) for each in matrices[0].backends],
        "statuses": [status.value for status in Status],
        "rungs": [rung.value for rung in Rung],
        "interfaces": [_interface(each, cells) for each in matrices],
        "cells": cells.cells.listed,
        "rows": cells.rows.listed,
    }


def _interface(matrix: Matrix, cells: _Cells) -> dict[str, Any]:
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


class _Cells:
    """The distinct cells, and the distinct rows of indices into them: most rows are repeated."""

    def __init__(self) -> None:
        self.cells = _Distinct()
        self.rows = _Distinct()

    def of(self, row: Row) -> int:
        """Return the index of the row of a name's cells."""
        return self.rows.place([self.cells.place(row.cell_json(backend)) for backend in row.cells])


class _Distinct:
    """A list without duplicates."""

    def __init__(self) -> None:
        self.listed: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, value: Any) -> int:
        """Return the index of ``value``, adding it if it is new."""
        place = self._places.setdefault(repr(value), len(self.listed))
        if place == len(self.listed):
            self.listed.append(value)
        return place


def _part(name: str) -> str:
    return (importlib.resources.files(__package__) / "html" / name).read_text(encoding="utf-8")
