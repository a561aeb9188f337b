"""Tests of the software device as CUDA, in a process under morph on the CPU backend with two devices."""

from __future__ import annotations

import pytest

from tests import platforms
from tests.worker import Worker, Workers


@pytest.fixture(scope="session")
def worker(worker_pool: Workers) -> Worker:
    """The process under morph, with two software devices."""
    return worker_pool.on(platforms.platform("cpu", {"MORPH_DEVICES": "2"}), morph=True)


@pytest.fixture(autouse=True)
def on_two_devices(worker: Worker) -> None:
    """Makes every test run in the worker."""
