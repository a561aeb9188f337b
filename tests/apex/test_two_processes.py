"""Two processes under torchrun, compared with one."""

import pathlib
import re

import pytest

from tests.platforms import Platform, complete, describe

PROGRAM = pathlib.Path(__file__).parent / "programs" / "two_processes.py"


@pytest.fixture(autouse=True)
def everywhere() -> None:
    """Overrides the fixture that adds the worker: this test starts its own processes."""


@pytest.mark.long
@pytest.mark.platforms("cpu")
def test_two_processes(platform: Platform) -> None:
    """A script trains, and two processes with parts of the data give the results of one with the whole."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*platform.command(morph=True), *torchrun, str(PROGRAM)]
    done = complete(command, env={**platform.environment, "OMP_NUM_THREADS": "1"}, timeout=110)
    assert done.returncode == 0, describe(done)
    accuracies = re.findall(r"accuracy ([\d.]+)", done.stdout)
    assert len(accuracies) == 2
    assert all(float(accuracy) > 0.9 for accuracy in accuracies)
    assert done.stdout.count("holds") == 7
