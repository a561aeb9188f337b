"""The outcome of PyTorch's tests by file, kept in docs/evidence/pytorch.json: counts, and what fails."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import json
import pathlib
import subprocess
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tests.platforms import REPOSITORY
from tests.pytorch.reasons import REASONS, reason, rules
from tests.pytorch.running import Result

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RECORD = REPOSITORY / "docs" / "evidence" / "pytorch.json"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a file's tests.

    Attributes:
        date: The day of the record.
        commit: morph's commit that was run.
        passed: How many passed, those among them that fail as they should.
        skipped: How many were skipped.
        failed: The ids of the others by reason: "version", "hardware", "kernel" or "morph".
        left: How many were not run yet.
    """

    date: str
    commit: str
    passed: int
    skipped: int
    failed: dict[str, list[str]]
    left: int = 0

    def __str__(self) -> str:
        reasons = ", ".join(f"{why} {len(ids)}" for why, ids in self.failed.items())
        return f"{self.passed} passed, {self.skipped} skipped, failed: {reasons or 'none'}, {self.left} left"


def outcome(file: str, results: Iterable[Result], on_cpu: Iterable[Result], tests: int) -> Outcome:
    """Return the outcome of a file's tests, from the results on the device and on the CPU of what failed."""
    results, siblings, known = list(results), {result.id: result for result in on_cpu}, rules()
    counts = collections.Counter(result.outcome for result in results)
    failed: dict[str, list[str]] = {}
    for result in results:
        if result.outcome == "failed":
            failed.setdefault(reason(file, result, siblings, known), []).append(result.id)
    return Outcome(
        date=datetime.date.today().isoformat(),
        commit=commit(),
        passed=counts["passed"] + counts["xfailed"],
        skipped=counts["skipped"],
        failed={why: sorted(failed[why]) for why in REASONS if why in failed},
        left=tests - len(results),
    )


def files() -> list[str]:
    """Return the files of the record."""
    return list(_kept())


def changed(file: str, results: Iterable[Result]) -> list[str]:
    """Return the ids of results that differ from the record, each with what became of it."""
    known = {name for ids in _kept()[file]["failed"].values() for name in ids}
    now = {result.id: result.outcome for result in results if result.outcome != "skipped"}
    return [f"{name} ({now[name]})" for name in now if (now[name] == "failed") != (name in known)]


def failing(file: str) -> list[str]:
    """Return the ids of a file's tests that fail by the record; of a file without one, none."""
    return [name for ids in _kept().get(file, {"failed": {}})["failed"].values() for name in ids]


def amend(file: str, results: Iterable[Result]) -> None:
    """Take tests that fail no longer out of a file's record; date and commit stay those of its run."""
    kept = _kept()
    ended = {result.id: result.outcome for result in results if result.outcome != "failed"}
    ids = {why: [name for name in names if name not in ended] for why, names in kept[file]["failed"].items()}
    kept[file]["failed"] = {why: names for why, names in ids.items() if names}
    skipped = sum(outcome == "skipped" for outcome in ended.values())
    kept[file]["skipped"] += skipped
    kept[file]["passed"] += len(ended) - skipped
    _write(kept, RECORD)


def write(file: str, found: DataclassInstance, place: pathlib.Path | None = None) -> None:
    """Put what came of a file into a record, this one unless given, in place of what it has of the file."""
    place = place or RECORD
    _write({**_kept(place), file: dataclasses.asdict(found)}, place)


def _kept(place: pathlib.Path | None = None) -> dict[str, dict[str, Any]]:
    place = place or RECORD
    kept: dict[str, dict[str, Any]] = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return kept


def _write(kept: dict[str, dict[str, Any]], place: pathlib.Path) -> None:
    text = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False)
    place.write_text(f"{text}\n", encoding="utf-8")


def commit() -> str:
    """Return the commit that is checked out, in eight digits."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()
