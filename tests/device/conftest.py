"""Runs every test in this folder on each platform, in a process under morph."""

import pytest

from tests.worker import Worker


@pytest.fixture(autouse=True)
def everywhere(worker: Worker) -> None:
    """Makes every test run in the worker."""
