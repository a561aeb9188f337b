"""Device memory that a test leaves behind."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator

import pytest

from morph.software import machine

TAKEN = pytest.StashKey[set[int]]()


class LeakCheck:
    """Fails the teardown of a test that passed, and whose own memory is still in use after it.

    What fixtures of a wider scope take is not the test's own: they take it before the test is called.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Note what the test takes."""
        before = _taken()
        yield  # a test that fails raises here: its traceback holds its variables
        item.stash[TAKEN] = _taken() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Look for it when the fixtures have ended."""
        yield
        own = item.stash.get(TAKEN, set())
        if own:
            gc.collect()
        if left := own & _taken():
            pytest.fail(_described(left), pytrace=False)


def register(config: pytest.Config) -> None:
    """Check each test from now on, and not the end of the process."""
    config.pluginmanager.register(LeakCheck(), "morph-leaks")
    if machine.is_started():
        from morph.software import leaks

        atexit.unregister(leaks.report)


def _taken() -> set[int]:
    if not machine.is_started():
        return set()
    from morph.software import leaks

    return set(leaks.taken())


def _described(left: set[int]) -> str:
    from morph.software import leaks

    blocks = {address: block for address, block in leaks.taken().items() if address in left}
    return "\n".join(
        ["device memory is left after the test:", *(f"  {line}" for line in leaks.lines(blocks))]
    )
