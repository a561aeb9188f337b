"""Every idiom that holds on CUDA with two GPUs holds under morph, except the gaps listed in gaps.toml."""

import pytest

from morph.base import toml
from tests.idioms.outcomes import FOLDER, SUBJECTS, idioms, outcomes_together
from tests.platforms import EVERYWHERE, SIMULATED, TPU, Platform

ALL = [f"{subject}.{idiom}" for subject in SUBJECTS for idiom in idioms(subject)]
GAPS: dict[str, dict[str, list[str]]] = toml.loads((FOLDER / "gaps.toml").read_text(encoding="utf-8"))
COMMON = "simulated"


def reasons(platform: Platform) -> dict[str, str]:
    """Returns the reason for each idiom that does not hold on a platform."""
    sections = [COMMON, platform.name] if platform.is_simulated else [platform.name]
    rows = (row for section in sections for row in GAPS.get(section, {}).items())
    return {idiom: reason for reason, idioms in rows for idiom in idioms}


@pytest.fixture(scope="session")
def seen() -> dict[str, dict[str, str | None]]:
    """The outcomes of the idioms, by the platforms on which they have run."""
    return {}


@pytest.mark.platforms(*EVERYWHERE, TPU)
@pytest.mark.long_on("npu", TPU, *SIMULATED)
@pytest.mark.parametrize("idiom", ALL)
def test_idiom_holds(platform: Platform, seen: dict[str, dict[str, str | None]], idiom: str) -> None:
    if platform.name not in seen:
        seen[platform.name] = outcomes_together(platform)
    failure = seen[platform.name][idiom]
    reason = reasons(platform).get(idiom)
    if reason is None:
        assert failure is None, failure
    else:
        assert failure is not None, f"works now; take {idiom} out of gaps.toml: {reason}"


def test_gaps_are_of_known_platforms_and_idioms() -> None:
    names = set(ALL)
    assert set(GAPS) == {COMMON, *EVERYWHERE, TPU}
    listed = [idiom for gaps in GAPS.values() for idioms in gaps.values() for idiom in idioms]
    assert sorted(set(listed) - names) == []
