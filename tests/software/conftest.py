"""Tests of the simulated devices without morph; they also run on the real torch_npu, the reference."""

import pytest

from tests import platforms
from tests.platforms import Platform
from tests.worker import Worker, Workers


@pytest.fixture(scope="session", params=platforms.chosen(["simulated-npu", "npu", "simulated-xpu"]))
def machine(request: pytest.FixtureRequest) -> Platform:
    """The simulated npu, the real torch_npu over the soft CANN and the simulated xpu, unless tests choose."""
    if request.param == "npu":
        return platforms.platform("npu", request.getfixturevalue("cann"))
    return platforms.platform(request.param, {})


@pytest.fixture(scope="session")
def vendor_worker(machine: Platform, worker_pool: Workers) -> Worker:
    """The process on the machine in which the tests run."""
    return worker_pool.on(machine, morph=False)
