"""The samples: source with a comment on each line that says what a scan finds there."""

from __future__ import annotations

import pathlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from morph.scan.uses import Kind, Use

FOLDER = pathlib.Path(__file__).parent / "samples"
FILES = sorted(FOLDER.glob("*.py"))
MARK = "  #: "

Lines = Mapping[int, Counter[str]]


def expected(file: pathlib.Path) -> Lines:
    """Returns what the comments of a sample say, by the line."""
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    said = ((number, line.partition(MARK)[2]) for number, line in lines if MARK in line)
    return {number: Counter(re.split(r", (?![^(]*\))", text)) for number, text in said}


def found(uses: Iterable[Use]) -> Lines:
    """Returns what a scan has found, as the comments spell it."""
    lines: dict[int, Counter[str]] = {}
    for use in uses:
        compared = "== " if use.kind is Kind.COMPARISON else ""
        said = f"{compared}{use.name} {use.rule}".strip()
        lines.setdefault(use.place.line, Counter())[said] += 1
    return lines
