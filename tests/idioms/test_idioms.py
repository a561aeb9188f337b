"""What is true of CUDA on two GPUs is true under morph, but for the gaps that are written down."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

import pytest

from tests.idioms.outcomes import FOLDER, SUBJECTS, idioms, outcomes
from tests.platforms import NAMES, Platform

ALL = [(subject, idiom) for subject in SUBJECTS for idiom in idioms(subject)]
GAPS: dict[str, dict[str, list[str]]] = tomllib.loads((FOLDER / "gaps.toml").read_text(encoding="utf-8"))
REASONS = {
    platform: {idiom: reason for reason, idioms in gaps.items() for idiom in idioms}
    for platform, gaps in GAPS.items()
}
Ask = Callable[[Platform, str], dict[str, str | None]]


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Runs the idioms of a file on a platform, once."""
    known: dict[tuple[str, str], dict[str, str | None]] = {}

    def ask_once(platform: Platform, subject: str) -> dict[str, str | None]:
        key = (platform.name, subject)
        if key not in known:
            known[key] = outcomes(platform, subject)
        return known[key]

    return ask_once


@pytest.mark.parametrize(("subject", "idiom"), ALL, ids=[".".join(pair) for pair in ALL])
def test_idiom_holds(platform: Platform, ask: Ask, subject: str, idiom: str) -> None:
    failure = ask(platform, subject)[idiom]
    reason = REASONS[platform.name].get(f"{subject}.{idiom}")
    if reason is None:
        assert failure is None, failure
    else:
        assert failure is not None, f"works now; take {subject}.{idiom} out of gaps.toml: {reason}"


def test_gaps_are_of_known_platforms_and_idioms() -> None:
    names = {".".join(pair) for pair in ALL}
    assert set(GAPS) == set(NAMES)
    assert [name for reasons in REASONS.values() for name in reasons if name not in names] == []


def test_every_file_of_idioms_is_run() -> None:
    helpers = {"__init__", "idiom", "outcomes", "run", "test_idioms"}
    assert {file.stem for file in FOLDER.glob("*.py")} - helpers == set(SUBJECTS)
