"""Tests of the software device as CUDA, in a process under morph on the CPU backend with two devices.

``MORPH_TEST_PLATFORMS=cuda`` runs them on an NVIDIA GPU without morph: does CUDA do what they say?
"""

import pytest

from tests import platforms
from tests.worker import Worker, Workers


@pytest.fixture(scope="session", params=platforms.chosen(["cpu"]))
def worker(request: pytest.FixtureRequest, worker_pool: Workers) -> Worker:
    """The process under morph, with two software devices."""
    return worker_pool.on(platforms.platform(request.param, {}), morph=True)


@pytest.fixture(autouse=True)
def on_two_devices(worker: Worker) -> None:
    """Makes every test run in the worker."""
