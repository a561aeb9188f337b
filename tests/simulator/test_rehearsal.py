"""A rehearsal ends with the CUDA names that the program touched, and a verdict."""

from __future__ import annotations

import io
import pathlib

import pytest

from morph.aliases import table
from morph.simulator import Rehearsal, report
from tests import platforms
from tests.platforms import describe

PROGRAM = """
import torch
from torch.cuda.amp import autocast

for _ in range(3):
    torch.cuda.synchronize()
x = torch.ones(2, device="cuda")
print(x.device, torch.cuda.memory_allocated() > 0, hasattr(torch.cuda, "gds"))
"""
NPU = """
[backend]
name = "npu"
title = "Huawei Ascend"
device_type = "npu"
dispatch_key = "PrivateUse1"
module = "torch.npu"
collective = "hccl"
[emulated]
"torch.cuda.Thing" = { adapter = "some.module:Thing", difference = "another thing" }
[missing]
"torch.cuda.gds" = "no direct storage"
"""


def test_a_program_is_rehearsed(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = platforms.platform("simulated-npu", {}).run(script, cwd=tmp_path, timeout=300)
    assert done.stdout.splitlines()[0].startswith("npu:0 True"), describe(done)
    rows = {
        line.split()[0]: line.split()[1:4]
        for line in done.stderr.splitlines()
        if line.startswith("torch.cuda.")
    }
    assert rows["torch.cuda.synchronize"] == ["3", "program.py:6", "same"]
    assert rows["torch.cuda.amp.autocast"][1] == "program.py:3"
    assert rows["torch.cuda.memory_allocated"][1] == "program.py:8"
    assert done.stderr.splitlines()[-1].startswith("on Huawei Ascend it would")
    assert "torch.cuda.get_rng_state" not in rows  # torch asks for it, the program does not


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        (["torch.cuda.synchronize"], "on Huawei Ascend it would run"),
        (
            ["torch.cuda.Thing", "torch.cuda.synchronize"],
            "on Huawei Ascend it would run, with differences in torch.cuda.Thing",
        ),
        (["torch.cuda.Thing", "torch.cuda.gds"], "on Huawei Ascend it would stop at torch.cuda.gds ("),
    ],
)
def test_verdict(names: list[str], verdict: str) -> None:
    rehearsal, output = Rehearsal(), io.StringIO()
    for name in names:
        rehearsal(name)
    report(rehearsal, table.parse(NPU, "npu.toml"), output)
    *_, last = output.getvalue().splitlines()
    assert last.startswith(verdict)
    assert all(name in output.getvalue() for name in names)


def test_the_first_use_is_the_programs_own_line() -> None:
    rehearsal = Rehearsal()
    for _ in range(2):
        rehearsal("torch.cuda.synchronize")
    (use,) = rehearsal
    assert (use.count, pathlib.Path(use.file).name) == (2, "test_rehearsal.py")
