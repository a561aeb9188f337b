"""What sanitizers find, as JSON: ``--sanitize=... --json FILE``, and ``MORPH_SANITIZE_JSON``."""

import json
import os
import subprocess
import sys

import pytest

from tests.platforms import REPOSITORY

PROGRAM = """
import ctypes, multiprocessing, torch, triton, triton.language as tl
side = torch.cuda.Stream()
x = torch.ones(1000, device="cuda")

@triton.jit
def double(x, SIZE: tl.constexpr):
    places = tl.arange(0, SIZE)
    tl.store(x + places, tl.load(x + places) * 2)

def attempt(what):
    try:
        what()
        for _ in range(2): pass  # where the interpreter raises what a signal's handler has seen
    except Exception as error:
        print(str(error))
    torch.cuda.synchronize()

def other_stream():
    y = torch.ones(7, device="cuda")
    with torch.cuda.stream(side):
        y.add_(1)

attempt(other_stream)
attempt(lambda: ctypes.c_float.from_address(x.data_ptr()).value)
attempt(lambda: double[(1,)](x, 1024))
host = torch.ones(5000, pin_memory=True)
x = torch.ones(5000, device="cuda")
x.copy_(host, non_blocking=True)
def overwrite():
    host[0] = 2
attempt(overwrite)
"""
TESTS = """
import torch
kept = []
def test_that_keeps():
    kept.append(torch.zeros(100, device="cuda"))
"""


def run(folder, *words, **variables):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **variables}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("native_parts")
def test_each_kind_has_a_line(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "found.json").write_text("of an earlier run")
    words = "--sanitize=all", "--json", "found.json", "program.py"
    done = run(tmp_path, "morph", "--backend", "cpu", *words)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (tmp_path / "found.json").read_text().splitlines()]
    assert [row["check"] for row in found][:4] == ["sync", "host", "memory", "sync"]
    assert {row["check"] for row in found[4:]} == {"leak"}
    assert all(row["text"] in done.stdout for row in found[:4]), done.stdout
    assert found[0]["lines"] == ["program.py:20", "program.py:22"]
    assert found[1]["lines"] == ["program.py:4"]
    assert len({row["process"] for row in found}) == 1


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_those_of_tests(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    file = str(tmp_path / "found.json")
    words = "-q", "-p", "no:cacheprovider", "--morph-backend", "cpu", "--morph-sanitize=leak"
    done = run(tmp_path, "pytest", *words, "test_it.py", MORPH_SANITIZE_JSON=file)
    assert "1 passed, 1 error" in done.stdout, done.stdout + done.stderr
    (row,) = map(json.loads, (tmp_path / "found.json").read_text().splitlines())
    assert (row["check"], row["lines"]) == ("leak", ["test_it.py:5"])


@pytest.mark.long
def test_on_the_standard_output(tmp_path, native_parts):
    program = "import torch; x = torch.ones(9, device='cuda')"
    done = run(tmp_path, "morph", "-q", "--backend", "cpu", "--sanitize=leak", "--json", "-", "-c", program)
    assert (
        json.loads(done.stdout)["text"]
        == "left at the end: 36 bytes on cuda:0 in 1 block, made at <string>:1"
    )


def test_a_file_needs_what_it_is_for(tmp_path):
    for words in ((), ("--sanitize", "--rehearse", "npu"), ("--sanitize", "--fit")):
        done = run(tmp_path, "morph", *words, "--json", "found.json", "-c", "pass")
        assert done.returncode == 2
        assert "--json needs one of --rehearse, --fit and --sanitize" in done.stderr


@pytest.mark.long
def test_a_program_that_changes_its_folder(tmp_path, native_parts):
    (tmp_path / "other").mkdir()
    program = "import os, torch; x = torch.ones(9, device='cuda'); os.chdir('other')"
    words = "-q", "--backend", "cpu", "--sanitize=leak", "-c", program
    run(tmp_path, "morph", *words, MORPH_SANITIZE_JSON="found.json")
    assert json.loads((tmp_path / "found.json").read_text())["check"] == "leak"
