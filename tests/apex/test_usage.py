"""Nearly every use of apex in public projects works: each name is used as they use it, on every platform."""

from __future__ import annotations

import traceback

from morph.backends.tables import interfaces
from tests.apex.uses import USES, Use, layers, training


def test_nearly_all_that_projects_use_works() -> None:
    assert {each.__module__ for each in USES.values()} == {layers.__name__, training.__name__}
    outcomes = {each: outcome(each) for each in set(USES.values())}
    assert not any(outcomes.values()), "\n".join(filter(None, outcomes.values()))
    used = {name: files for name, files in interfaces.usage().items() if interfaces.of(name).name == "apex"}
    unused = {name: files for name, files in used.items() if name not in USES}
    assert 100 * sum(unused.values()) <= sum(used.values()), unused


def outcome(function: Use) -> str:
    """Returns the traceback of a failure, or an empty string."""
    try:
        function()
    except Exception:
        return traceback.format_exc()
    return ""
