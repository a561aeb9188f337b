"""Programs that recover meet each fault, where it was asked for, and no second time."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.platforms import REPOSITORY

PROGRAMS = pathlib.Path(__file__).parent / "programs"
ECC = "CUDA error: uncorrectable ECC error encountered"

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("native_parts")]


def run(faults: str, *words: object, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Run a program, or modules with arguments, under morph with two devices."""
    options = [f"--inject={fault}" for fault in faults.split()]
    morph = [sys.executable, "-m", "morph", "--backend", "cpu", "--devices", "2"]
    command = [*morph, *options, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return done


def torchrun(faults: str, name: str, *words: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a program in two processes, which are started anew once."""
    processes = "--standalone", "--nproc-per-node", 2, "--max-restarts", 1
    return run(faults, "-m", "torch.distributed.run", *processes, PROGRAMS / name, *words, status=status)


def injected(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^morph: injected (.*)$", done.stderr, re.MULTILINE)


def line(name: str, code: str) -> str:
    lines = (PROGRAMS / name).read_text().splitlines()
    return f"{name}:{next(number for number, text in enumerate(lines, 1) if code in text)}"


def test_memory_that_is_out_is_asked_for_again():
    done = run("oom@step=2 oom@step=3,call=2", PROGRAMS / "retry.py")
    refused, figures = done.stdout.splitlines()
    words = "CUDA out of memory. Tried to allocate 2.00 MiB."
    assert refused == str([f"64 {words}", f"64 {words}"])
    assert figures == "2 2"
    first, second = injected(done)
    assert first == f"oom at {line('retry.py', 'inputs =')}, in step 2"
    assert re.fullmatch(r"oom at retry\.py:\d+, in step 3", second)


@pytest.mark.needs("accelerate")
@pytest.mark.parametrize("place", ["call=4", pytest.param("step=3,call=2", marks=pytest.mark.long)])
def test_accelerate_finds_a_smaller_batch(place):
    code = """
import torch
from accelerate.utils import find_executable_batch_size
tried = []
@find_executable_batch_size(starting_batch_size=100)
def train(batch_size):
    tried.append(batch_size)
    layer = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.Adam(layer.parameters())
    for _ in range(4):
        layer(torch.rand(batch_size, 8, device="cuda")).sum().backward()
        optimizer.step()
train()
print(tried)
"""
    assert run(f"oom@{place}", "-c", code).stdout == "[100, 90]\n"


def test_chances_are_the_same_each_time():
    first, second = (run("oom@p=0.1,seed=3", PROGRAMS / "retry.py") for _ in range(2))
    assert injected(first) == injected(second)
    assert first.stdout == second.stdout
    assert len(injected(first)) > 1


def test_a_step_with_nan_is_passed_over():
    done = run("nan@step=3,op=addmm", PROGRAMS / "guard.py")
    scales = [1024.0, 1024.0, 512.0, 512.0, 512.0]
    assert done.stdout == "".join(f"{step} {scale}\n" for step, scale in enumerate(scales)) + "True\n"
    assert injected(done) == [f"nan at {line('guard.py', 'model(inputs)')}, in step 3"]


def test_anomaly_detection_names_the_operator_with_nan():
    done = run("nan@op=tanh_backward", PROGRAMS / "anomaly.py")
    assert "Function 'TanhBackward0' returned nan values in its 0th output.\n" in done.stdout
    assert injected(done) == [f"nan at {line('anomaly.py', 'backward()')}, in step 1"]


def test_training_resumes_after_an_error_of_memory(tmp_path):
    whole = run("", PROGRAMS / "resume.py", tmp_path / "whole.pt").stdout
    broken = run("ecc@step=3,call=20", PROGRAMS / "resume.py", tmp_path / "part.pt", status=1)
    assert ECC in broken.stderr
    assert [each.partition(" at ")[0] for each in injected(broken)] == ["ecc"]
    resumed = run("", PROGRAMS / "resume.py", tmp_path / "part.pt").stdout
    assert (whole.split()[0], resumed.split()[0]) == ("0", "2")
    assert whole.split()[1] == resumed.split()[1]


def test_the_context_is_lost_for_good():
    code = """
import torch
for _ in range(3):
    try:
        torch.ones(2, device="cuda")
    except torch.AcceleratorError as error:
        print(error.error_code, str(error).splitlines()[0])
"""
    assert run("ecc@call=2", "-c", code).stdout == f"214 {ECC}\n" * 3


@pytest.mark.parametrize("ending", ["code=7", pytest.param("signal=KILL", marks=pytest.mark.long)])
def test_a_rank_that_ends_is_started_anew(tmp_path, ending):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    torchrun("", "elastic.py", whole)
    done = torchrun(f"rank-exit@rank=1,step=3,{ending}", "elastic.py", broken)
    assert injected(done) == [f"rank-exit at {line('elastic.py', 'optimizer.step')}, in step 3, on rank 1"]
    attempt, first, loss = (broken / "result").read_text().split()
    assert attempt == "1"
    assert first in {"2", "3"}  # rank 0 may end the step before it is stopped
    assert (whole / "result").read_text() == f"0 0 {loss}"


def test_a_collective_that_does_not_end_runs_into_the_timeout_of_its_group(tmp_path):
    done = torchrun("nccl-timeout@call=2,rank=1", "lost.py", tmp_path / "store")
    [said] = injected(done)
    assert said == f"nccl-timeout at {line('lost.py', 'all_reduce')}, in step 1, on rank 1"
    ranks = sorted(done.stdout.splitlines())
    assert len(ranks) == 2
    for rank, text in enumerate(ranks):
        assert text.startswith(f"rank {rank}: [[2.0, 2.0], 'Timed out waiting', ")
        assert text.endswith(", [2.0, 2.0]]")


@pytest.mark.long
def test_a_slow_rank_begins_its_steps_later(tmp_path):
    done = torchrun("slow-rank@rank=0,step=2,ms=3000", "slow.py", tmp_path / "order")
    assert injected(done) == [f"slow-rank at {line('slow.py', 'optimizer.step')}, in step 2, on rank 0"]
    order = (tmp_path / "order").read_text().split()
    assert sorted(order) == ["01", "02", "03", "11", "12", "13"]
    assert order[-2:] == ["02", "03"]


def test_a_fault_that_does_not_happen_is_told():
    done = run("oom@step=9 nan@rank=1 ecc@restart=1 oom@p=0", PROGRAMS / "retry.py")
    assert done.stderr.splitlines()[-1] == "morph: oom@step=9 did not happen: the program ended in step 5"
    assert "nan" not in done.stderr
