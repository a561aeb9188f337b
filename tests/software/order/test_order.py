"""Missing waits: ``--sanitize=sync`` finds each one, and says nothing of a right twin."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.platforms import REPOSITORY

PROGRAM = """
import sys, torch
from tests.software.order import calls, programs
for name in sys.argv[1:]:
    torch.cuda.synchronize()
    twin, piece = name.split("_", 1)
    try:
        (getattr(programs, piece, None) or getattr(calls, piece))(twin == "right")
        print(name)
    except RuntimeError as error:
        print(name, str(error).replace("\\n", "|"))
"""
SOURCES = [(pathlib.Path(__file__).parent / name).read_text() for name in ("programs.py", "calls.py")]
NAMES = re.findall(r"^def (\w+)\(right\)", "\n".join(SOURCES), re.MULTILINE)
STREAMS = "CUDA error: a stream does not wait for another (found by MORPH_SANITIZE=sync)"
HOST = "CUDA error: the host does not wait for a stream (found by MORPH_SANITIZE=sync)"
COPIES = {
    "copy_that_is_read",
    "copy_that_numpy_reads",
    "synchronization_of_another_stream",
    "buffer_that_is_filled_again",
    "buffer_that_another_stream_reads",
    "buffer_of_the_runtime",
}


def run(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "morph", "--backend", "cpu", "--devices", "2", *words]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def found(native_parts):
    """What each piece ended with, by its name."""
    names = [f"{twin}_{name}" for name in NAMES for twin in ("right", "wrong")]
    lines = run("--sanitize=sync", "-c", PROGRAM, *names).stdout.splitlines()
    return dict(line.partition(" ")[::2] for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_wait_is_found(found, name):
    text = found[f"wrong_{name}"]
    assert text.startswith(HOST if name in COPIES else STREAMS)
    assert re.search(
        r"\|  (programs|calls)\.py:\d+: \w+ on (the default stream|stream [\w ]*\d+) of cuda:\d ", text
    )


def test_nothing_is_said_of_the_right_twins(found):
    assert {name: found[f"right_{name}"] for name in NAMES} == dict.fromkeys(NAMES, "")


def test_the_report_names_both_lines_and_the_way_out(found):
    assert re.fullmatch(
        r".*\|  programs\.py:\d+: fill_ on the default stream of cuda:0 writes memory"
        r"\|  programs\.py:\d+: sum on stream \d+ of cuda:0 reads 20000 bytes of it"
        r"\|  and nothing makes stream \d+ of cuda:0 wait for the default stream of cuda:0: "
        r"Stream\.wait_stream or an event does",
        found["wrong_input_of_another_stream"],
    )
    assert (
        "freed meanwhile: Tensor.record_stream keeps memory that stream" in (found["wrong_memory_given_back"])
    )


@pytest.mark.long
def test_nothing_is_found_without_it(native_parts):
    names = [f"wrong_{name}" for name in NAMES]
    assert run("-c", PROGRAM, *names).stdout.split() == names


def test_streams_of_the_runtime_and_the_default_one_wait_for_each_other(native_parts):
    program = """
import ctypes, torch
from torch.utils import cpp_extension
x = torch.ones(1000, device="cuda")
runtime = ctypes.CDLL(cpp_extension.CUDA_HOME + "/lib64/libcudart.so")
handle = ctypes.c_void_p()
assert runtime.cudaStreamCreate(ctypes.byref(handle)) == 0
with torch.cuda.stream(torch.cuda.ExternalStream(handle.value)):
    y = x + 1
print((y + 1).sum().item())
"""
    assert run("--sanitize=sync", "-c", program).stdout.split() == ["3000.0"]
