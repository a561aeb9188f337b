"""Every test in this folder runs inside a process on the software device, under morph."""

from __future__ import annotations

import pytest

from tests.worker import Worker


@pytest.fixture(autouse=True)
def on_the_software_device(worker: Worker) -> None:
    """Adds the worker to the fixtures of every test, which makes the test run in it."""
