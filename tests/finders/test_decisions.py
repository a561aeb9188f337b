"""Whether a package is served is decided once per process, even if its installation changes."""

import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec

import pytest

from morph.backends.tables import package
from morph.finders.packages import decisions
from morph.finders.packages.decisions import Decisions

APEX = package.load("apex")
REAL = ModuleSpec("apex", None, origin="/apex/__init__.py")


@pytest.fixture
def decide(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], ModuleSpec | None]], Decisions]:
    """Makes decisions of a search for real installations, all of which load."""
    monkeypatch.setattr(decisions, "_problem", lambda package: None)
    monkeypatch.delitem(sys.modules, "apex", raising=False)
    return lambda find_real: Decisions(find_real, lambda: True)


@pytest.mark.parametrize("installed", [False, True])
def test_a_decision_is_taken_once(decide: Callable[..., Decisions], installed: bool) -> None:
    specs = iter([REAL if installed else None])
    asked = decide(lambda name: next(specs))  # a second question ends in StopIteration
    assert asked.known(APEX) is None
    assert asked.serves(APEX) is not installed
    assert asked.serves(APEX) is asked.known(APEX) is asked.likely(APEX) is not installed


def test_of_two_threads_that_decide_at_once_the_first_counts(decide: Callable[..., Decisions]) -> None:
    def find_real(name: str) -> ModuleSpec | None:
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=asked.serves, args=[APEX])
            other.start()
            other.join()
            return REAL  # as if another program had installed it in the meantime
        return None

    asked = decide(find_real)
    assert asked.serves(APEX)
    assert asked.serves(APEX)
