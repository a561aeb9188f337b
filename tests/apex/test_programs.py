"""Whole programs: two processes under torchrun, and a script that knows apex only."""

from __future__ import annotations

import pathlib
import re
import subprocess

import pytest

from tests.platforms import Platform, describe

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.fixture(autouse=True)
def everywhere() -> None:
    """Leaves the worker alone: these start processes of their own."""


def run(
    platform: Platform, script: str, *arguments: object, processes: int = 1
) -> subprocess.CompletedProcess[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [*platform.command(morph=True), *(torchrun if processes > 1 else []), str(PROGRAMS / script)]
    environment = {**platform.environment, "OMP_NUM_THREADS": "1"}
    done = platform.complete([*command, *map(str, arguments)], env=environment, timeout=110)
    assert done.returncode == 0, describe(done)
    return done


@pytest.mark.platforms("cpu")
def test_two_processes_are_as_one_with_both_batches(platform: Platform) -> None:
    done = run(platform, "two_processes.py", processes=2)
    assert done.stdout.count("holds") == 7


@pytest.mark.platforms("cpu")
def test_a_script_of_2019_in_two_processes(platform: Platform) -> None:
    done = run(platform, "imagenet.py", "--opt-level", "O2", "--sync_bn", processes=2)
    accuracies = [float(each) for each in re.findall(r"accuracy ([\d.]+)", done.stdout)]
    assert len(accuracies) == 2
    assert min(accuracies) > 0.9


@pytest.mark.platforms("npu")
def test_a_script_of_2019_and_its_checkpoint(platform: Platform, tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "checkpoint.pth"
    first = run(platform, "imagenet.py", "--opt-level", "O1", "--epochs", 1, "--save", saved)
    assert "Selected optimization level O1" in first.stdout
    second = run(platform, "imagenet.py", "--opt-level", "O1", "--epochs", 2, "--resume", saved)
    accuracy = re.search(r"accuracy ([\d.]+)", second.stdout)
    assert accuracy
    assert float(accuracy[1]) > 0.9
