"""``--report FILE``: the CUDA names that a program used on the real device, and how they were served."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from morph import announcement, backends
from morph.rehearsal import Rehearsal, Result, result

FORMATS = (".html", ".json")


def write(file: str, records: list[dict[str, Any]], recorder: Rehearsal) -> None:
    """Write the report of a program that has ended.

    Args:
        file: The path, with one of the endings in ``FORMATS``.
        records: The records of the program's processes.
        recorder: The recorder of the first process, which knows how it ended.
    """
    backend = backends.active()
    if backend is None:
        announcement.report(f"there is nothing to report in {file}: the program did not import torch")
        return
    found = result(backend.table, records, recorder.ending)
    text = _page(found) if file.endswith(".html") else json.dumps(as_json(found), indent=1) + "\n"
    pathlib.Path(file).write_text(text, encoding="utf-8")


def as_json(found: Result) -> dict[str, Any]:
    """Return the JSON form: names with place, count and status, and operators below Python."""
    whole = found.as_json()
    return {key: whole[key] for key in ("backend", "title", "processes", "ending", "names", "operators")}


def _page(found: Result) -> str:
    from morph.reporting.page import page

    return page(found)
