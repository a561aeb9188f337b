"""Whether a program fits in a card's memory, phase by phase: ``--fit``."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from morph.activation import installation
from morph.backends.tables import table
from morph.base.errors import ActivationError
from tests.platforms import REPOSITORY

pytestmark = pytest.mark.usefixtures("native_parts")
MIB = 1 << 20
CUBLAS = 2 * (8 * MIB + 128 * 1024)  # the workspaces of the threads of forward and backward, which last
SCALARS = 2 * 512
TRAIN = """
import torch
layer = torch.nn.Linear(2048, 2048, bias=False, device="cuda")
optimizer = torch.optim.Adam(layer.parameters())
x = torch.ones(256, 2048, device="cuda")
for _ in range(2):
    layer(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
"""
CHECKPOINTED = """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.ones(MIB, device="cuda", requires_grad=True)
y = checkpoint(lambda x: (x.sin().cos() * 2).sin(), x, use_reentrant=False)
y.sum().backward()
""".replace("MIB", str(MIB))
IN_BACKWARD = """
import torch
weight = torch.ones(MIB, device="cuda", requires_grad=True)
optimizer = torch.optim.Adam([weight])
weight.register_post_accumulate_grad_hook(lambda _: optimizer.step())
weight.sum().backward()
""".replace("MIB", str(MIB))
TOO_LARGE = """
import torch
x = torch.ones(10 << 20, dtype=torch.uint8, device="cuda")
weight = torch.ones(5 << 20, device="cuda", requires_grad=True)
optimizer = torch.optim.Adam([weight])
(weight * 2).sum().backward()
optimizer.step()
"""
GOES_ON = """
import torch
for size in (1 << 34, 1 << 20):
    try:
        x = torch.ones(size, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
"""
TWO_DEVICES = """
import torch
a = torch.empty(100 << 20, dtype=torch.uint8, device="cuda:0")
b = [torch.empty(50 << 20, dtype=torch.uint8, device="cuda:1") for _ in range(3)]
del b[1:]
"""
TWO_PROCESSES = """
import os, sys, torch
size = 1 << 20 << int(os.environ["LOCAL_RANK"])
x = torch.empty(size, dtype=torch.uint8, device=int(os.environ["LOCAL_RANK"]))
"""
LARGER_THAN_THE_HOST = """
import torch
x = torch.empty(60 << 30, dtype=torch.uint8, device="cuda")
x[::1 << 30].fill_(1)
"""


def run(
    folder: pathlib.Path, program: str, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(program)
    command = [sys.executable, "-m", "morph", "-q", *words]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def record(folder: pathlib.Path, program: str, *options: str, status: int = 0) -> dict[str, Any]:
    done = run(folder, program, "--backend", "cpu", "--json", "f.json", *options, "train.py")
    assert done.returncode == status, done.stderr
    found = json.loads((folder / "f.json").read_text())
    return {**found["processes"][0], "fits": found["fits"], "said": done.stderr, "printed": done.stdout}


def place(program: str, text: str) -> str:
    return next(f"train.py:{n}" for n, line in enumerate(program.splitlines(), 1) if text in line)


def test_a_step_of_adam_by_arithmetic(tmp_path):
    found = record(tmp_path, TRAIN, "--fit")
    (device,) = found["devices"]
    weight, inputs = 2048 * 2048 * 4, 256 * 2048 * 4
    lasting = 4 * weight + inputs + CUBLAS + SCALARS  # the weights, their gradients and Adam's two states
    assert {name: level["allocated"] for name, level in device["phases"].items()} == {
        "forward and other": lasting,  # before zero_grad
        "backward": lasting,
        "optimizer step": lasting + weight,  # the roots of a state
    }
    assert [*map(int, found["printed"].split())] == [*device["peak"].values()]
    assert device["at"] == {"phase": "optimizer step", "step": 1}
    assert {each["line"]: each["bytes"] for each in device["lines"]} == {
        place(TRAIN, ".step()"): 3 * weight + SCALARS,
        place(TRAIN, "backward"): weight + CUBLAS,
        place(TRAIN, "Linear"): weight,
        place(TRAIN, "ones"): inputs,
    }
    assert found["fits"] is True


@pytest.mark.long
def test_what_checkpointing_computes_again_is_of_backward(tmp_path):
    (device,) = record(tmp_path, CHECKPOINTED, "--fit")["devices"]
    phases = {name: level["allocated"] // (4 * MIB) for name, level in device["phases"].items()}
    assert phases["forward and other"] == 3  # x, a result, and the one before it
    assert phases["backward"] > 5
    assert phases["optimizer step"] == 0


@pytest.mark.long
def test_a_step_made_in_backward_is_a_step(tmp_path):
    (device,) = record(tmp_path, IN_BACKWARD, "--fit")["devices"]
    assert device["phases"]["optimizer step"]["allocated"] // (4 * MIB) == 5
    assert device["phases"]["backward"]["allocated"] // (4 * MIB) == 4  # after the step


def test_a_program_that_needs_more_than_the_card_does_not_fit(tmp_path):
    found = record(tmp_path, TOO_LARGE, "--fit", "--device-memory", "100MiB", status=1)
    line, usable = place(TOO_LARGE, ".step()"), 100 * MIB - 100 * MIB // 128
    assert found["fits"] is False
    assert found["refused"] == {
        "count": 1,
        "device": "cuda:0",
        "bytes": 20 * MIB,
        "phase": "optimizer step",
        "step": 1,
        "line": line,
    }
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB." in found["said"]
    (device,) = found["devices"]
    reserved = device["peak"]["reserved"]
    assert usable - 20 * MIB < reserved <= usable == device["usable"]
    assert (
        f"does not fit: OutOfMemoryError at {line} in step 1 (optimizer step), which asked for "
        f"20.00 MiB more than {reserved / MIB:.2f} MiB of 99.22 MiB, {100 * reserved // usable} %"
    ) in found["said"]


def test_a_program_that_does_not_end_by_a_refusal(tmp_path):
    found = record(tmp_path, GOES_ON, "--fit=t4")
    assert (found["fits"], found["error"]) == (None, None)
    at = f"{place(GOES_ON, 'torch.ones')} in step 1 (forward and other)"
    said = f"was refused memory, 1 time, the last at {at}: 16.00 GiB more than 2.00 MiB of 14.64 GiB of the "
    assert said in found["said"]


@pytest.mark.long
def test_a_program_that_ends_by_another_error(tmp_path):
    found = record(tmp_path, "import torch\ntorch.ones(1, device='cuda')\n1 / 0\n", "--fit=t4", status=1)
    assert found["fits"] is None
    assert (
        "fits until ZeroDivisionError ended it: 2.00 MiB of 14.64 GiB of the t4, under 1 %" in found["said"]
    )


def test_two_devices(tmp_path):
    found = record(tmp_path, TWO_DEVICES, "--fit", "--devices", "2")
    peaks = {each["device"]: each["peak"] for each in found["devices"]}
    assert peaks == {
        "cuda:0": {"allocated": 100 * MIB, "reserved": 100 * MIB},
        "cuda:1": {"allocated": 150 * MIB, "reserved": 150 * MIB},
    }


@pytest.mark.long
def test_child_processes_are_in_the_report_of_the_first(tmp_path):
    torchrun = "-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py"
    done = run(tmp_path, TWO_PROCESSES, "--backend", "cpu", "--fit=t4", "--json", "-", *torchrun)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    devices = [device for each in found["processes"] for device in each["devices"]]
    assert sorted((each["device"], each["peak"]["allocated"]) for each in devices) == [
        ("cuda:0", MIB),
        ("cuda:1", 2 * MIB),
    ]
    assert done.stderr.count(" fits: ") == 2


def test_a_program_that_changes_its_folder(tmp_path):
    (tmp_path / "other").mkdir()
    program = "import os, torch\ntorch.ones(1, device='cuda')\nos.chdir('other')\n"
    run(tmp_path, program, "--backend", "cpu", "--fit=t4", "--json", "found.json", "train.py")
    assert json.loads((tmp_path / "found.json").read_text())["fits"] is True


def test_a_card_with_more_memory_than_the_host(tmp_path):
    (device,) = record(tmp_path, LARGER_THAN_THE_HOST, "--fit=h100")["devices"]
    assert device["peak"]["allocated"] == 60 << 30


@pytest.mark.long
def test_the_memory_of_a_vendors_device(tmp_path):
    done = run(tmp_path, TRAIN, "--rehearse", "npu", "--fit", "--device-memory", "1GiB", "train.py")
    assert done.returncode == 0, done.stderr
    assert " fits: " in done.stderr
    assert "of 1.00 GiB, " in done.stderr


def test_the_variable_alone(tmp_path):
    done = run(tmp_path, TWO_DEVICES, "--backend", "cpu", "--devices", "2", "train.py", MORPH_FIT="v100")
    assert done.stderr.count("MiB of 15.66 GiB of the v100") == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--fit=t5"], "--fit: there is no profile 't5'; the profiles are a100, "),
        (["--fit=t4", "--device-profile", "h100"], "--fit=t4 and --device-profile h100 are two cards"),
        (["--fit="], "--fit needs the name of a card, such as h100"),
        (["--rehearse", "npu", "--fit", "--json", "x"], "--json needs one of --rehearse, --fit"),
        (["--rehearse", "npu", "--fit=t4"], "the devices of npu cannot be this card, those of cpu can"),
    ],
)
def test_what_makes_no_sense_is_refused(words, problem, tmp_path):
    done = run(tmp_path, "import torch", *words, "train.py")
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_another_backend_is_refused(monkeypatch):
    monkeypatch.setenv("MORPH_FIT", "1")
    installation._ensure_checked(table.facts("npu"), simulated=True)
    installation._ensure_checked(table.facts("cpu"), simulated=False)
    with pytest.raises(ActivationError, match="MORPH_FIT: .* software device, not on npu"):
        installation._ensure_checked(table.facts("npu"), simulated=False)
