"""Device memory and handles that a test leaves behind."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator
from typing import NamedTuple

import pytest

from morph.software import machine

LEFT = pytest.StashKey[tuple["Left", "Left"]]()


class Left(NamedTuple):
    """What there is of the device: the addresses of blocks in use, and how many handles of each kind."""

    blocks: frozenset[int] = frozenset()
    handles: dict[str, int] = {}

    def since(self, before: Left) -> Left:
        """Return what has been added."""
        added = {kind: count - before.handles.get(kind, 0) for kind, count in self.handles.items()}
        return Left(self.blocks - before.blocks, added)

    def of(self, own: Left) -> Left:
        """Return what is still there of what a test has added."""
        left = {kind: min(count, self.handles.get(kind, 0)) for kind, count in own.handles.items()}
        return Left(self.blocks & own.blocks, left)

    def is_any(self) -> bool:
        """Return whether there is anything."""
        return bool(self.blocks) or any(count > 0 for count in self.handles.values())


class LeakCheck:
    """Fails the teardown of a test that passed, and whose own memory or handles are there after it.

    What fixtures of a wider scope take is not the test's own: they take it before the test is called.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Note what the test takes."""
        before = _now()
        yield  # a test that fails raises here: its traceback holds its variables
        item.stash[LEFT] = before, _now().since(before)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Look for it when the fixtures have ended."""
        yield
        before, own = item.stash.get(LEFT, (Left(), Left()))
        if own.is_any():
            gc.collect()
        left = _now().since(before).of(own)
        if left.is_any():
            pytest.fail(_described(left), pytrace=False)


def register(config: pytest.Config) -> None:
    """Check each test from now on, and not the end of the process."""
    config.pluginmanager.register(LeakCheck(), "morph-leaks")
    if machine.is_started():
        from morph.software import leaks

        atexit.unregister(leaks.report)


def _now() -> Left:
    if not machine.is_started():
        return Left()
    from morph.software import leaks

    return Left(frozenset(leaks.taken()), leaks.handles())


def _described(left: Left) -> str:
    from morph.software import leaks, settings

    blocks = {address: block for address, block in leaks.taken().items() if address in left.blocks}
    lines = [*leaks.lines(blocks), *leaks.counted(left.handles)]
    text = "\n".join(["left on the device after the test:", *(f"  {line}" for line in lines)])
    machine.started().native.note_found(settings.LEAK, text)
    return text
