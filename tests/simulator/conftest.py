"""Tests of the simulated device run on it alone, without morph, and on the real torch_npu, which is right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import platforms
from tests.platforms import Platform
from tests.worker import Worker


@pytest.fixture(scope="session", params=["simulated-npu", "npu", "simulated-xpu"])
def machine(request: pytest.FixtureRequest) -> Platform:
    """The simulated npu, the real torch_npu over the soft CANN and the simulated xpu, unless tests choose."""
    if request.param == "npu":
        return platforms.platform("npu", request.getfixturevalue("cann"))
    platforms.build_simulator()
    return platforms.platform(request.param, {})


@pytest.fixture(scope="session")
def vendor_worker(machine: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A process on the machine, in which tests run."""
    worker = Worker(machine, tmp_path_factory.mktemp("worker") / "output.txt", morph=False)
    yield worker
    worker.stop()
