"""Unmodified CUDA programs give the numbers of their hand-ported twins on the same device."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess
from collections.abc import Callable

import pytest

from tests import platforms
from tests.platforms import Platform, describe

FOLDER = pathlib.Path(__file__).parent
TIMEOUT = 180

Numbers = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Program:
    """A program and what its final numbers may differ by.

    Attributes:
        name: Of the file here, and of its hand-ported twin under `ported/`.
        tolerance: Relative, of every number in the line of JSON that the program ends with.
        processes: More than one runs it under torchrun.
        twin_processes: The same for the twin.
    """

    name: str
    tolerance: float = 1e-4
    processes: int = 1
    twin_processes: int = 1


PROGRAMS = [
    Program("digits"),
    Program("characters"),
    Program("ddp", processes=2, twin_processes=2),
    Program("gan"),
    Program("parallel"),
    Program("prefetch"),
    Program("custom"),
    Program("fsdp", processes=2),
    Program("agent"),
    Program("serve"),
]
NAMES = [program.name for program in PROGRAMS]
# one that asks at its beginning whether CUDA is in use already comes first
ALONE = sorted((program for program in PROGRAMS if program.processes == 1), key=lambda each: each.name)
PARALLEL = {
    "simulated-npu": PROGRAMS[2],
    "simulated-mlu": PROGRAMS[2],
    "simulated-musa": PROGRAMS[7],
    "simulated-xpu": PROGRAMS[2],
}
ACCURATE = {"digits": 97.0, "ddp": 90.0, "parallel": 90.0, "serve": 88.0}


def run(
    platform: Platform,
    script: pathlib.Path,
    *arguments: object,
    morph: bool,
    cwd: pathlib.Path,
    processes: int = 1,
) -> subprocess.CompletedProcess[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [*platform.command(morph=morph), *(torchrun if processes > 1 else []), str(script)]
    # one thread, so that a sum has one order whichever way it is spelled
    environment = {**platform.environment, "OMP_NUM_THREADS": "1"}
    done = platform.complete([*command, *map(str, arguments)], env=environment, cwd=cwd, timeout=TIMEOUT)
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


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Platform, Program], Numbers]:
    """Runs a hand-ported program, once for each platform."""
    known: dict[tuple[str, str], Numbers] = {}

    def run_twin(platform: Platform, program: Program) -> Numbers:
        key = (platform.name, program.name)
        if key not in known:
            script = FOLDER / "ported" / f"{program.name}.py"
            cwd, device = tmp_path_factory.mktemp(program.name), ("--device", platform.device_type)
            processes = program.twin_processes
            morph = platform.is_simulated  # whose device exists under morph only
            done = run(platform, script, *device, morph=morph, cwd=cwd, processes=processes)
            known[key] = numbers(done)
        return known[key]

    return run_twin


@pytest.mark.platforms("cpu", "npu")
@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_numbers_are_those_of_the_hand_ported_program(
    platform: Platform, program: Program, twin: Callable[[Platform, Program], Numbers], tmp_path: pathlib.Path
) -> None:
    done = run(platform, FOLDER / f"{program.name}.py", morph=True, cwd=tmp_path, processes=program.processes)
    result = numbers(done)
    assert result == pytest.approx(twin(platform, program), rel=program.tolerance), describe(done)
    assert result.get("accuracy", 100) >= ACCURATE.get(program.name, 0)


@pytest.mark.platforms(*PARALLEL)
def test_simulated_devices_give_the_numbers_of_the_hand_ported_programs(
    platform: Platform, twin: Callable[[Platform, Program], Numbers], tmp_path: pathlib.Path
) -> None:
    """In one process, as starting one takes longer than most of them; the simulated devices compute alike."""
    names = [program.name for program in ALONE]
    done = run(platform, FOLDER / "several.py", *names, morph=True, cwd=tmp_path)
    hand_ported = platforms.platform("simulated-npu", {})
    for program, result in zip(ALONE, all_numbers(done), strict=True):
        assert result == pytest.approx(twin(hand_ported, program), rel=program.tolerance), program.name


@pytest.mark.platforms(*PARALLEL)
def test_simulated_devices_train_on_two_processes(
    platform: Platform, twin: Callable[[Platform, Program], Numbers], tmp_path: pathlib.Path
) -> None:
    program = PARALLEL[platform.name]
    done = run(platform, FOLDER / f"{program.name}.py", morph=True, cwd=tmp_path, processes=2)
    expected = twin(platforms.platform("simulated-npu", {}), program)
    assert numbers(done) == pytest.approx(expected, rel=program.tolerance), describe(done)


@pytest.mark.platforms("cpu", "npu")
def test_resumed_training_ends_where_the_whole_one_does(
    platform: Platform, tmp_path: pathlib.Path, twin: Callable[[Platform, Program], Numbers]
) -> None:
    digits, checkpoint = FOLDER / "digits.py", tmp_path / "digits.pt"
    run(platform, digits, "--epochs", 2, "--checkpoint", checkpoint, morph=True, cwd=tmp_path)
    done = run(platform, digits, "--resume", checkpoint, morph=True, cwd=tmp_path)
    assert "at epoch 2" in done.stdout
    assert numbers(done) == pytest.approx(twin(platform, PROGRAMS[0]), rel=1e-4)


@pytest.mark.platforms("cpu", "npu")
def test_memory_and_times_are_reported(platform: Platform, tmp_path: pathlib.Path) -> None:
    done = run(platform, FOLDER / "digits.py", "--epochs", 1, morph=True, cwd=tmp_path)
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
