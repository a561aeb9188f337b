"""Device memory that the host uses: ``--sanitize=host`` finds each access, and leaves right twins alone."""

import re

import pytest

from tests.platforms import REPOSITORY
from tests.software.order.test_order import run

PROGRAM = """
import sys, torch
from tests.software.hidden import programs
for name in sys.argv[1:]:
    twin, piece = name.split("_", 1)
    try:
        getattr(programs, piece)(twin == "right") if hasattr(programs, piece) else getattr(programs, name)()
        for _ in range(3): pass  # where the interpreter raises what another thread did
        print(name)
    except RuntimeError as error:
        print(name, str(error).replace("\\n", "|"))
"""
WRITE = """
import ctypes, os, torch
x = torch.ones(9, device="cuda")
os.write(os.pipe()[1], (ctypes.c_char * 36).from_address(x.data_ptr()))
"""
SOURCE = (REPOSITORY / "tests/software/hidden/programs.py").read_text()
WRONG, RIGHT = (re.findall(rf"^def ({twin}_\w+)", SOURCE, re.MULTILINE) for twin in ("wrong", "right"))
USED = "CUDA error: the host uses device memory (found by MORPH_SANITIZE=host)"


@pytest.fixture(scope="module")
def found(native_parts):
    """What each piece ended with, by its name."""
    lines = run("--sanitize=host", "-c", PROGRAM, *RIGHT, *WRONG, *RIGHT).stdout.splitlines()
    assert len(lines) == len(WRONG) + 2 * len(RIGHT)
    return dict(line.partition(" ")[::2] for line in lines)


@pytest.mark.parametrize("name", WRONG)
def test_an_access_of_the_host_is_found(found, name):
    assert found[name].startswith(f"{USED}|  ")


def test_nothing_is_said_of_the_right_twins(found):
    assert {name: found[name] for name in RIGHT} == dict.fromkeys(RIGHT, "")


def test_the_report_names_the_memory(found):
    assert re.fullmatch(
        re.escape(USED)
        + r"\|  40 bytes into an allocation of 4000 bytes on cuda:0, made at programs\.py:\d+",
        found["wrong_read_of_an_element"],
    )
    assert found["wrong_read_of_freed_memory"].endswith("in memory of cuda:0 that nothing has")


def test_a_system_call_refuses_the_address(native_parts):
    done = run("--sanitize=host", "-c", WRITE, check=False)
    assert done.returncode == 1
    assert "OSError: [Errno 14] Bad address" in done.stderr


@pytest.mark.long
def test_nothing_is_found_without_it(native_parts):
    assert run("-c", PROGRAM, *WRONG).stdout.split() == WRONG
