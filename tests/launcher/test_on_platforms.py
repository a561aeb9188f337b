"""What a device is called on every platform, in the program and in its children."""

import pathlib

import pytest

from tests.platforms import Platform

PROGRAM = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset

DEVICE = torch.device("cuda", 0)

class Answers(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return torch.tensor([index, DEVICE.type == "cuda"])

def step(x):
    if x.device.type == "cuda" and str(x.device).startswith("cuda") and "cuda" in str(x.device):
        return x + 1
    match x.device.type:
        case "cuda":
            return x + 2
    return x - 1

if __name__ == "__main__":
    x = torch.zeros(2, device=DEVICE)
    compiled = torch.compile(step, backend="eager", fullgraph=True)
    print(step(x).tolist(), compiled(x).tolist(), x.type() == "torch.cuda.FloatTensor")
    for method in ("fork", "spawn"):
        loader = DataLoader(Answers(), batch_size=2, num_workers=2, multiprocessing_context=method)
        print(next(iter(loader)).tolist())
"""
MODEL = """
import torch
from inner.layers import kind

def describe():
    x = torch.zeros(2, device="cuda")
    return [kind(x), str(x.device).startswith("cuda"), torch.cuda.is_available()]
"""
LAYERS = """
def kind(x):
    return x.device.type in ("cuda", "mps")
"""


@pytest.mark.long_on("npu", "simulated-npu")
def test_modules_beside_the_program(platform: Platform, tmp_path: pathlib.Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "inner").mkdir()  # a namespace package
    (tmp_path / "inner" / "layers.py").write_text(LAYERS)
    program = tmp_path / "program.py"
    child = "import model; print(model.describe())"
    program.write_text(
        f"import subprocess, sys, model\nprint(model.describe(), flush=True)\n"
        f"subprocess.run([sys.executable, '-c', {child!r}], check=True)\n"
    )
    assert platform.run(program, cwd=tmp_path).stdout == f"{[True, True, True]}\n" * 2


@pytest.mark.long
def test_eager_compiled_and_in_workers(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    answers = [[0, 1], [1, 1]]
    lines = platform.run(program).stdout.splitlines()
    assert lines == ["[1.0, 1.0] [1.0, 1.0] True", str(answers), str(answers)]
