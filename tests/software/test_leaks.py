"""Device memory that tests and programs leave behind: ``--sanitize=leak``."""

import os
import subprocess
import sys

import pytest

from tests.platforms import REPOSITORY

TESTS = """
import pytest
import torch
import weakref

kept = []

@pytest.fixture(scope="module")
def shared():
    return torch.zeros(1000, device="cuda")

@pytest.fixture
def own():
    return torch.zeros(10, device="cuda")

def test_of_fixtures(shared, own):
    x = torch.randn(50, 50, device="cuda")
    assert (x @ x + shared[0] + own[0]).shape == (50, 50)  # and a workspace of cuBLAS

def test_that_keeps(shared):
    kept.append(torch.zeros(100, device="cuda"))

def test_that_keeps_what_another_has_kept():
    assert len(kept) == 1

def test_that_keeps_handles():
    event, graph = torch.cuda.Event(), torch.cuda.CUDAGraph()
    event.record()
    kept.append((event, graph))

def test_of_handles():
    event = torch.cuda.Event()
    event.record()
    torch.cuda.Stream().wait_event(event)

def test_of_a_cycle():
    a = [torch.zeros(7, device="cuda")]
    a.append(a)

def test_that_fails():
    x = torch.zeros(3, device="cuda")
    assert len(x) == 4

def test_of_a_step():
    layer = torch.nn.Linear(4, 4).cuda()
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(2, 4, device="cuda")).sum().backward()
    optimizer.step()
"""
PROGRAM = """
import torch
layer = torch.nn.Linear(10, 10, bias=False, device="cuda")
several = [torch.ones(1000, device="cuda") for _ in range(3)]
gone = torch.ones(10, device="cuda")
del gone
event = torch.cuda.Event()
event.record()
"""


def run(folder, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("native_parts")
@pytest.mark.parametrize(
    "words",
    [
        ("pytest", "--morph-backend", "cpu", "--morph-sanitize=leak"),
        pytest.param(
            ("morph", "--backend", "cpu", "--sanitize=leak", "-m", "pytest"), marks=pytest.mark.long
        ),
    ],
)
def test_memory_that_a_test_leaves_is_an_error(tmp_path, words):
    (tmp_path / "test_it.py").write_text(TESTS)
    done = run(tmp_path, *words, "-q", "-p", "no:cacheprovider", "test_it.py")
    line = next(n for n, text in enumerate(TESTS.splitlines(), 1) if "kept.append" in text)
    assert "1 failed, 7 passed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert "ERROR at teardown of test_that_keeps _" in done.stdout
    assert f"  400 bytes on cuda:0 in 1 block, made at test_it.py:{line}\n" in done.stdout
    assert "\nleft on the device after the test:\n  1 event\n  1 graph\n" in done.stdout
    assert "at the end" not in done.stderr


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_a_program_is_told_what_is_left(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run(tmp_path, "morph", "-q", "--backend", "cpu", "--sanitize=leak", "program.py")
    left = "morph: left at the end: "
    assert done.stderr.splitlines() == [
        f"{left}12000 bytes on cuda:0 in 3 blocks, made at program.py:4",
        f"{left}400 bytes on cuda:0 in 1 block, made at program.py:3",
        f"{left}1 event",
    ]
