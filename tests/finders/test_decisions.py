"""Whether a package is served is decided once per process, even if its installation changes."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from morph.backends.tables import package
from morph.finders.packages import decisions
from morph.finders.packages.decisions import Decisions

APEX = package.load("apex")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Decisions:
    finder: Any = SimpleNamespace(find_spec=lambda *given: None)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    monkeypatch.setattr(decisions, "_problem", lambda package: None)
    monkeypatch.delitem(sys.modules, "apex", raising=False)
    return Decisions(finder)


@pytest.mark.parametrize("installed", [False, True])
def test_a_decision_is_taken_once(asked: Decisions, monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    monkeypatch.setattr(decisions, "is_installed", lambda spec: installed)
    assert asked.known(APEX) is None
    assert asked.serves(APEX) is not installed
    monkeypatch.setattr(decisions, "is_installed", pytest.fail)
    assert asked.serves(APEX) is asked.known(APEX) is asked.likely(APEX) is not installed


def test_of_two_threads_that_decide_at_once_the_first_counts(
    asked: Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(spec: Any) -> bool:
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=asked.serves, args=[APEX])
            other.start()
            other.join()
            return True  # as if another program had installed it in the meantime
        return False

    monkeypatch.setattr(decisions, "is_installed", installed)
    assert asked.serves(APEX)
    assert asked.serves(APEX)
