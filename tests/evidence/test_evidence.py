"""The evidence that morph ships: every CUDA name is used once on every platform, or found to be refused.

For the served packages, it covers what their scenarios use.

`python -m pytest tests/evidence -m "" --record-evidence` rewrites the file from the results of the run.
"""

import json
from collections.abc import Mapping

import pytest
import torch

from morph.evidence.coverage import evidence
from morph.evidence.coverage.evidence import Evidence, Seen
from tests.evidence import packages
from tests.evidence.exercises import KINDS, plan, run
from tests.evidence.shipped import dumps, replaced, seen_on
from tests.platforms import CUDA, EVERYWHERE, REPOSITORY, SIMULATED, TPU, Platform

FILE = REPOSITORY / "aliases" / "evidence.json"
TORCH = torch.__version__.partition("+")[0]

everywhere = pytest.mark.platforms(*EVERYWHERE, TPU)
long = pytest.mark.long_on(TPU, *SIMULATED)


@pytest.fixture(scope="session")
def shown(
    platform: Platform, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The outcome of each name that was tried on the platform."""
    results = tmp_path_factory.mktemp("evidence") / "results.json"
    # requested here, since a test that has it among its fixtures runs inside the worker
    worker = request.getfixturevalue("worker")
    worker.call(run, {"platform": platform.name, "results": results})
    outcomes: dict[str, str] = json.loads(results.read_text())
    # torch_tpu's attention is a kernel for TPUs only
    for package in () if platform.name in (TPU, CUDA) else packages.PACKAGES:
        worker.call(packages.run, {"name": package, "results": results})
        outcomes |= json.loads(results.read_text())
    return outcomes


@long
@everywhere
def test_every_name_works_or_is_refused(shown: dict[str, str]) -> None:
    assert {name: problem for name, problem in shown.items() if problem not in KINDS} == {}


@pytest.mark.long_on(TPU)
@everywhere
def test_every_public_name_is_tried_or_has_a_reason(platform: Platform) -> None:
    assert plan(platform.name).unexplained == ()


@long
@everywhere
def test_the_shipped_evidence_is_what_this_run_shows(
    shown: dict[str, str], platform: Platform, request: pytest.FixtureRequest
) -> None:
    seen = {name: Seen(what) for name, what in shown.items() if what in KINDS}
    if request.config.getoption("record_evidence"):
        _record(platform.name, seen)
    shipped = evidence.parse(FILE.read_text(encoding="utf-8"))
    assert shipped.torch == TORCH, "record it anew with --record-evidence -m ''"
    kept = seen_on(shipped, platform.name)
    differences = {
        "only in this run": sorted(seen.items() - kept.items(), key=str),
        "only in the file": sorted(kept.items() - seen.items(), key=str),
    }
    assert not any(differences.values()), f"{differences}; record it anew with --record-evidence -m ''"


def test_there_is_evidence_of_these_platforms_only() -> None:
    shipped = evidence.parse(FILE.read_text(encoding="utf-8"))
    assert {platform for on in shipped.platforms.values() for platform in on} == {*EVERYWHERE, TPU}


def _record(platform: str, seen: Mapping[str, Seen]) -> None:
    known = evidence.parse(FILE.read_text(encoding="utf-8")).platforms if FILE.exists() else {}
    FILE.write_text(dumps(replaced(Evidence(TORCH, known), platform, seen)), encoding="utf-8")
