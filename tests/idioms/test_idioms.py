"""What is true of CUDA on two GPUs is true under morph, but for the gaps that are written down."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

import pytest

from tests.idioms.outcomes import FOLDER, SUBJECTS, idioms, outcomes, outcomes_together
from tests.platforms import EVERYWHERE, Platform

ALL = [(subject, idiom) for subject in SUBJECTS for idiom in idioms(subject)]
GAPS: dict[str, dict[str, list[str]]] = tomllib.loads((FOLDER / "gaps.toml").read_text(encoding="utf-8"))
COMMON = "simulated"
ALL_FILES = "together"
Ask = Callable[[Platform, str, str], str | None]


def reasons(platform: Platform) -> dict[str, str]:
    """Returns the idioms that do not hold on a platform, each with the reason."""
    sections = [COMMON, platform.name] if platform.is_simulated else [platform.name]
    rows = (row for section in sections for row in GAPS[section].items())
    return {idiom: reason for reason, idioms in rows for idiom in idioms}


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Runs the idioms of all files together on a platform, once; on the real torch_npu, files as scripts."""
    known: dict[tuple[str, str], dict[str, str | None]] = {}

    def ask_once(platform: Platform, subject: str, idiom: str) -> str | None:
        if platform.name != "npu":
            subject, idiom = ALL_FILES, f"{subject}.{idiom}"
        key = (platform.name, subject)
        if key not in known:
            known[key] = outcomes_together(platform) if subject == ALL_FILES else outcomes(platform, subject)
        return known[key][idiom]

    return ask_once


@pytest.mark.platforms(*EVERYWHERE)
@pytest.mark.parametrize(("subject", "idiom"), ALL, ids=[".".join(pair) for pair in ALL])
def test_idiom_holds(platform: Platform, ask: Ask, subject: str, idiom: str) -> None:
    failure = ask(platform, subject, idiom)
    reason = reasons(platform).get(f"{subject}.{idiom}")
    if reason is None:
        assert failure is None, failure
    else:
        assert failure is not None, f"works now; take {subject}.{idiom} out of gaps.toml: {reason}"


def test_gaps_are_of_known_platforms_and_idioms() -> None:
    names = {".".join(pair) for pair in ALL}
    assert set(GAPS) == {COMMON, *EVERYWHERE}
    listed = [idiom for gaps in GAPS.values() for idioms in gaps.values() for idiom in idioms]
    assert sorted(set(listed) - names) == []


def test_every_file_of_idioms_is_run() -> None:
    helpers = {"__init__", "idiom", "outcomes", "run", "test_idioms", "together"}
    assert {file.stem for file in FOLDER.glob("*.py")} - helpers == set(SUBJECTS)
