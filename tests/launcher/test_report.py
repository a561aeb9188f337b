"""``--report``: what a program used of CUDA on a real device, in all its processes."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

from tests.platforms import Platform, complete, describe

PROGRAM = """
import subprocess, sys
import torch
x = torch.ones(3, device="cuda")
torch.cuda.synchronize()
if sys.argv[1:]:
    subprocess.run([sys.executable, __file__], check=True)
    hasattr(torch.cuda, "gds")
    from pynvml import NVML_SUCCESS, nvmlInit
    import pynvml.smi
"""


def report(platform: Platform, program: pathlib.Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [*platform.command(morph=True), "--report", name, str(program), "parent"]
    return complete(command, env=platform.environment, cwd=program.parent, timeout=120)


@pytest.mark.long_on("npu")
@pytest.mark.platforms("cpu", "npu")
def test_names_and_operators_of_every_process(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = report(platform, program, "report.json")
    assert done.returncode == 1, describe(done)
    told = json.loads((tmp_path / "report.json").read_text())
    assert (told["backend"], told["processes"]) == (platform.backend, 2)
    names = {each["name"]: each for each in told["names"]}
    synchronize, gds = names["torch.cuda.synchronize"], names["torch.cuda.gds"]
    assert (synchronize["count"], synchronize["file"], synchronize["line"]) == (2, str(program), 5)
    assert (gds["count"], gds["status"]) == (1, "missing")
    served = {name: each["status"] for name, each in names.items() if name.startswith("pynvml")}
    assert served == {
        "pynvml": "same",
        "pynvml.NVML_SUCCESS": "same",
        "pynvml.nvmlInit": "emulated",
        "pynvml.smi": "missing",
    }
    assert names["pynvml.smi"]["note"].endswith("pip install pynvml")
    assert told["ending"]["error"] == "ModuleNotFoundError"
    if platform.name != "cpu":  # where "cuda" is the device's own name, nothing is translated
        assert told["operators"]["aten::empty.memory_format"] >= 2


@pytest.mark.platforms("cpu")
def test_a_page(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = report(platform, program, "report.html")
    assert done.returncode == 1, describe(done)
    page = (tmp_path / "report.html").read_text()
    assert (
        '<tr class="missing"><td>torch.cuda.gds</td><td>1</td><td>missing</td><td>program.py:8</td>' in page
    )
    assert "$" not in page.partition("<style>")[0] + page.partition("</style>")[2]


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("options", [["--report", "report.txt"], ["--report", "r.html", "--rehearse", "npu"]])
def test_what_cannot_be_reported_is_refused(platform: Platform, options: list[str]) -> None:
    command = [sys.executable, "-m", "morph", *options, "program.py"]
    done = subprocess.run(command, env=platform.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--report cannot go with --rehearse, and needs a file that ends in .html or .json" in done.stderr


@pytest.mark.platforms("cpu")
def test_a_program_without_torch(platform: Platform, tmp_path: pathlib.Path) -> None:
    command = [*platform.command(morph=True), "--report", "report.json", "-c", "print(1)"]
    done = complete(command, env=platform.environment, cwd=tmp_path, timeout=120)
    assert done.stdout == "1\n"
    assert "there is nothing to report in report.json: the program did not import torch" in done.stderr
