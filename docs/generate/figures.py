"""The figures of the evidence: the runs recorded in ``docs/evidence/*.toml``, and what tests hold true."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from docs.generate.rooms import ROOT
from morph.base import toml
from tests.idioms import outcomes

RECORDS = ROOT / "docs" / "evidence"


class Run(NamedTuple):
    """A suite, and how it went.

    Attributes:
        suite: Whose tests.
        release: The release or commit of them.
        date: The day of the run.
        commit: morph's commit that records it.
        part: Which of the tests; empty for all.
        passed: How many passed; None where there is no number.
        of: How many were run.
        shown: What was compared, where there is no number.
        rest: Why the others did not pass.
    """

    suite: str
    release: str
    date: datetime.date
    commit: str
    part: str = ""
    passed: int | None = None
    of: int | None = None
    shown: str = ""
    rest: str = ""


@functools.cache
def record(name: str) -> Mapping[str, Any]:
    """Return the content of ``docs/evidence/NAME.toml``."""
    return toml.loads((RECORDS / f"{name}.toml").read_text(encoding="utf-8"))


@functools.cache
def pytorch(record: str = "pytorch") -> Mapping[str, Any]:
    """Return what came of PyTorch's own tests by file, as the commands of ``tests.pytorch`` write it.

    Args:
        record: ``"pytorch"``, on the software device; ``"pytorch_npu"``, on torch_npu; ``"pytorch_h100"``,
            on a real GPU.
    """
    found: Mapping[str, Any] = json.loads((RECORDS / f"{record}.json").read_text(encoding="utf-8"))
    return found


def runs(group: str) -> list[Run]:
    """Return the runs of a group of ``suites.toml``."""
    return [Run(**row) for row in record("suites")[group]]


def idioms() -> tuple[int, dict[str, dict[str, str]]]:
    """Return how many CUDA idioms the tests have, and by platform those that fail, with the reasons.

    A test fails for an idiom that fails beside these, and for one of these that starts to hold.
    """
    gaps = toml.loads((outcomes.FOLDER / "gaps.toml").read_text(encoding="utf-8"))
    common = gaps.pop("simulated")
    failing = {}
    for platform, rows in gaps.items():
        merged = [*rows.items(), *(common.items() if platform.startswith("simulated-") else ())]
        failing[platform] = {idiom: reason for reason, names in merged for idiom in names}
    return sum(len(outcomes.idioms(subject)) for subject in outcomes.SUBJECTS), failing
