"""Tests of the served pynvml run inside one process per platform, under morph."""

from __future__ import annotations

import pytest

from tests.worker import Worker


@pytest.fixture(autouse=True)
def everywhere(worker: Worker) -> None:
    """Adds the worker to the fixtures of every test, which makes the test run in it."""
