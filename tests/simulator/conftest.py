"""Tests of the simulated device run on it alone, without morph, and on the real torch_npu, which is right."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator

import pytest

from tests import platforms
from tests.platforms import Platform
from tests.worker import Worker


@dataclasses.dataclass(frozen=True)
class Simulated(Platform):
    """A simulated device, started by a program of this folder."""

    def command(self, *, morph: bool) -> list[str]:
        """Returns the command that runs what follows it; `morph` is for the other platforms."""
        return [sys.executable, "-m", "tests.simulator.started", self.device_type]


@pytest.fixture(scope="session", params=["simulated-npu", "npu", "simulated-xpu"])
def machine(request: pytest.FixtureRequest) -> Platform:
    """The simulated npu, the real torch_npu over the soft CANN and the simulated xpu, unless tests choose."""
    if request.param == "npu":
        return platforms.platform("npu", request.getfixturevalue("cann"))
    platforms.build_simulator()
    fields = dataclasses.asdict(platforms.platform(request.param, {}))
    return Simulated(**fields)


@pytest.fixture(scope="session")
def vendor_worker(machine: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A process on the machine, in which tests run."""
    worker = Worker(machine, tmp_path_factory.mktemp("worker") / "output.txt", morph=False)
    yield worker
    worker.stop()
