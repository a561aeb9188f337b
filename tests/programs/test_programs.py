"""Unmodified CUDA programs give the same numbers as their hand-ported twins on the same device."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import subprocess
from collections.abc import Callable, Sequence

import pytest

from tests import platforms
from tests.platforms import ACCELERATORS, Platform, complete, describe

FOLDER = pathlib.Path(__file__).parent
TIMEOUT = 600

Numbers = dict[str, float]
Twin = Callable[[Platform, Sequence["Program"]], list[Numbers]]


@dataclasses.dataclass(frozen=True)
class Program:
    """A program and the tolerance of its final numbers.

    Attributes:
        name: The name of the file here, and of its hand-ported twin under `ported/`.
        tolerance: The relative tolerance of every number in the line of JSON that the program ends with.
        software: The tolerance on the software device, whose random numbers and default autocast dtype are
            those of CUDA, while the twin's are those of the CPU.
        processes: The number of processes; more than one runs it under torchrun.
        twin_processes: The number of processes of the twin.
    """

    name: str
    tolerance: float = 1e-4
    software: float = 1e-4
    processes: int = 1
    twin_processes: int = 1


PROGRAMS = [
    Program("digits", software=0.3),
    Program("characters", software=0.2),
    Program("ddp", processes=2, twin_processes=2),
    Program("gan"),
    Program("parallel"),
    Program("prefetch"),
    Program("custom", software=0.3),
    Program("fsdp", processes=2),
    Program("agent"),
    Program("serve"),
]
NAMES = [program.name for program in PROGRAMS]
LAUNCHED = [program for program in PROGRAMS if program.processes > 1]
# sorted, so that the one that first checks whether CUDA is already in use comes first
ALONE = sorted((program for program in PROGRAMS if program.processes == 1), key=lambda each: each.name)
LONG = (pytest.mark.long,)
ONE_AT_A_TIME = [pytest.param(each, marks=() if each.name == "digits" else LONG) for each in ALONE]
PARALLEL = {
    "cpu": LAUNCHED,
    "npu": LAUNCHED,
    "simulated-npu": LAUNCHED[:1],
    "simulated-mlu": LAUNCHED[:1],
    "simulated-musa": LAUNCHED[1:],
    "simulated-xpu": LAUNCHED[:1],
}
ACCURATE = {"digits": 97.0, "ddp": 90.0, "parallel": 90.0, "serve": 88.0}


def run(
    platform: Platform,
    script: str,
    *arguments: object,
    morph: bool,
    cwd: pathlib.Path,
    processes: int = 1,
) -> subprocess.CompletedProcess[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [*platform.command(morph=morph), *(torchrun if processes > 1 else []), str(FOLDER / script)]
    # one thread, so that sums have the same order in both programs
    environment = {**platform.environment, "OMP_NUM_THREADS": "1"}
    done = complete([*command, *map(str, arguments)], env=environment, cwd=cwd, timeout=TIMEOUT)
    assert done.returncode == 0, describe(done)
    return done


def numbers(done: subprocess.CompletedProcess[str]) -> Numbers:
    """Returns the line of JSON that a program ends with."""
    *_, last = all_numbers(done)
    return last


def all_numbers(done: subprocess.CompletedProcess[str]) -> list[Numbers]:
    """Returns the lines of JSON that programs end with."""
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"loss"')]
    assert lines, describe(done)
    return [json.loads(line) for line in lines]


def computing_alike(platform: Platform) -> Platform:
    """Returns simulated-npu for every simulated platform, and the given platform otherwise."""
    return platforms.platform("simulated-npu", {}) if platform.is_simulated else platform


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    """Runs hand-ported programs in one process, each once per platform, for all of xdist's workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def run_twins(platform: Platform, programs: Sequence[Program]) -> list[Numbers]:
        files = [folder / f"twin-{platform.name}-{program.name}.json" for program in programs]
        if not all(file.exists() for file in files):
            done = run(
                platform,
                "several.py",
                *(*(f"ported.{program.name}" for program in programs), "--", "--device", platform.backend),
                morph=platform.is_simulated,  # simulated devices exist under morph only
                cwd=tmp_path_factory.mktemp("twin"),
                processes=programs[0].twin_processes,
            )
            for file, result in zip(files, all_numbers(done)[-len(programs) :], strict=True):
                unfinished = file.with_suffix(f".{os.getpid()}")
                unfinished.write_text(json.dumps(result))
                unfinished.rename(file)
        return [json.loads(file.read_text()) for file in files]

    return run_twins


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("program", ONE_AT_A_TIME, ids=lambda program: program.name)
def test_program_gives_the_numbers_of_the_hand_ported_one(
    platform: Platform, program: Program, twin: Twin, tmp_path: pathlib.Path
) -> None:
    done = run(platform, f"{program.name}.py", morph=True, cwd=tmp_path)
    result = numbers(done)
    (expected,) = twin(platform, [program])
    assert result == pytest.approx(expected, rel=program.software), describe(done)
    assert result.get("accuracy", 100) >= ACCURATE.get(program.name, 0)


@pytest.mark.long
@pytest.mark.platforms(*ACCELERATORS)
def test_accelerators_give_the_numbers_of_the_hand_ported_programs(
    platform: Platform, twin: Twin, tmp_path: pathlib.Path
) -> None:
    """One process, as starting one takes longer than most programs; the simulated devices compute alike."""
    done = run(platform, "several.py", *(program.name for program in ALONE), morph=True, cwd=tmp_path)
    ported = twin(computing_alike(platform), ALONE)
    for program, result, expected in zip(ALONE, all_numbers(done), ported, strict=True):
        assert result == pytest.approx(expected, rel=program.tolerance), program.name
        assert result.get("accuracy", 100) >= ACCURATE.get(program.name, 0)


@pytest.mark.long
@pytest.mark.platforms(*PARALLEL)
def test_two_processes_give_the_numbers_of_the_hand_ported_program(
    platform: Platform, twin: Twin, tmp_path: pathlib.Path
) -> None:
    for program in PARALLEL[platform.name]:
        done = run(platform, f"{program.name}.py", morph=True, cwd=tmp_path, processes=2)
        result, (expected,) = numbers(done), twin(computing_alike(platform), [program])
        assert result == pytest.approx(expected, rel=program.tolerance), describe(done)
        assert result.get("accuracy", 100) >= ACCURATE.get(program.name, 0)


@pytest.mark.long
@pytest.mark.platforms("cpu", "npu")
def test_resumed_training_ends_where_the_whole_one_does(platform: Platform, tmp_path: pathlib.Path) -> None:
    whole = run(platform, "digits.py", morph=True, cwd=tmp_path)
    checkpoint = tmp_path / "digits.pt"
    run(platform, "digits.py", "--epochs", 2, "--checkpoint", checkpoint, morph=True, cwd=tmp_path)
    done = run(platform, "digits.py", "--resume", checkpoint, morph=True, cwd=tmp_path)
    assert "at epoch 2" in done.stdout
    assert numbers(done) == pytest.approx(numbers(whole), rel=1e-4)


@pytest.mark.long
@pytest.mark.platforms("cpu", "npu")
def test_memory_and_times_are_reported(platform: Platform, tmp_path: pathlib.Path) -> None:
    done = run(platform, "digits.py", "--epochs", 1, morph=True, cwd=tmp_path)
    report = re.search(r"memory: ([\d.]+) MB allocated, ([\d.]+) MB peak, ([\d.]+) MB reserved", done.stdout)
    times = re.findall(r"(\d+) ms, scale (\d+)", done.stdout)
    assert report is not None, describe(done)
    allocated, peak, reserved = map(float, report.groups())
    assert 0 < allocated <= peak <= reserved
    assert [int(milliseconds) > 0 for milliseconds, _ in times] == [True]


@pytest.mark.parametrize("name", NAMES)
def test_program_knows_of_cuda_only(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text()
    assert "cuda" in text
    assert not re.search(r"morph|npu|ascend|xpu|mlu|musa", text.replace("input", ""), re.IGNORECASE)


@pytest.mark.parametrize("name", NAMES)
def test_hand_ported_program_knows_nothing_of_cuda(name: str) -> None:
    assert "cuda" not in (FOLDER / "ported" / f"{name}.py").read_text()


def test_every_program_is_listed() -> None:
    listed = re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\) \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(NAMES)
