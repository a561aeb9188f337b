"""The figures of the evidence: the runs recorded in ``docs/evidence/*.toml``, and what tests hold true."""

from __future__ import annotations

import ast
import datetime
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from docs.generate.rooms import ROOT
from morph.base import toml

RECORDS = ROOT / "docs" / "evidence"
IDIOMS = ROOT / "tests" / "idioms"


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
    gaps = toml.loads((IDIOMS / "gaps.toml").read_text(encoding="utf-8"))
    common = gaps.pop("simulated")
    failing = {}
    for platform, rows in gaps.items():
        merged = [*rows.items(), *(common.items() if platform.startswith("simulated-") else ())]
        failing[platform] = {idiom: reason for reason, names in merged for idiom in names}
    return sum(_idioms(subject) for subject in _subjects()), failing


def _subjects() -> Sequence[str]:
    module = ast.parse((IDIOMS / "outcomes.py").read_text(encoding="utf-8"))
    (assigned,) = [
        node.value for node in module.body if isinstance(node, ast.Assign) and "SUBJECTS" in ast.unparse(node)
    ]
    found: Sequence[str] = ast.literal_eval(assigned)
    return found


def _idioms(subject: str) -> int:
    module = ast.parse((IDIOMS / f"{subject}.py").read_text(encoding="utf-8"))
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    tables = [node.value for node in module.body if isinstance(node, ast.Assign)]
    rows = sum(len(table.keys) for table in tables if isinstance(table, ast.Dict))
    return rows + sum(not node.name.startswith("_") and not node.decorator_list for node in functions)
