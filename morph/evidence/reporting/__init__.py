"""``--report FILE``: the CUDA names that a program used on the real device, and how they were served."""

from __future__ import annotations

import datetime
import json
import pathlib
import platform
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from morph import __version__, backends
from morph.backends.tables import surfaces
from morph.backends.tables.table import Facts
from morph.base import announcement
from morph.evidence.rehearsal.findings import Result, result
from morph.evidence.rehearsal.recording import Rehearsal
from morph.evidence.reporting.page import page


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What was run, when and with what.

    Attributes:
        program: The program and its arguments, as on a command line.
        written: The time of the report, by ISO 8601.
        versions: The releases of morph, Python, torch and the vendor's package.
    """

    program: str
    written: str
    versions: dict[str, str]


def write(file: str, program: Sequence[str], records: list[dict[str, Any]], recorder: Rehearsal) -> None:
    """Write the report of a program that has ended, and say so.

    Args:
        file: The path, with the ending ``.html`` or ``.json``.
        program: The words of the program's command line.
        records: The records of the program's processes.
        recorder: The recorder of the first process, which knows how it ended.
    """
    backend = backends.active()
    if backend is None:
        announcement.report(f"there is nothing to report in {file}: the program did not import torch")
        return
    found = result(backend.table, records, recorder.ending)
    now = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    words = shlex.join(program).removeprefix("-- ")
    circumstances = Circumstances(words, now, _versions(backend.table.facts))
    as_text = json.dumps(as_json(found, circumstances), indent=1) + "\n"
    text = page(found, circumstances) if file.endswith(".html") else as_text
    pathlib.Path(file).write_text(text, encoding="utf-8")
    announcement.report(f"wrote {file}")


def as_json(found: Result, circumstances: Circumstances) -> dict[str, Any]:
    """Return the JSON form: the circumstances, names with place, count and status, and operators."""
    whole = found.as_json()
    keys = ("backend", "title", "processes", "ending", "names", "operators")
    return {**asdict(circumstances), **{key: whole[key] for key in keys}}


def _versions(facts: Facts) -> dict[str, str]:
    import torch

    versions = {"morph": __version__, "torch": str(torch.__version__), "Python": platform.python_version()}
    vendor = "" if facts.software else facts.distribution
    found = surfaces.installed(vendor) if vendor else None
    return {**versions, vendor: found} if found else versions
