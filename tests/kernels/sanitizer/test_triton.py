"""Wrong kernels in Triton, each beside its right twin."""

import functools
import pathlib
import re
from collections.abc import Iterable

import pytest

from tests.kernels.sanitizer.test_kernels import run

PROGRAM = pathlib.Path(__file__).parent / "triton_kernels.py"
LINE = next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "torch.ones" in text)
NAMES = re.findall(r'"(\w+)": \(', PROGRAM.read_text())
UNFILLED, RACING = ([each for each in NAMES if each.startswith(kind)] for kind in ("unfilled", "racing"))
OUTSIDE = [each for each in NAMES if each not in {*UNFILLED, *RACING}]
MEMORY = f"an allocation of 400 bytes on cuda:0, made at {PROGRAM.name}:{LINE}"


QUICK = ("mask", "unfilled_counter", "racing_maximum")  # one of each kind; the others are long


def some(names: list[str]) -> list[object]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in names]


def outcomes(folder: pathlib.Path, option: str, names: Iterable[str]) -> dict[tuple[str, str], str]:
    lines = [line.split(" ", 2) for line in run(folder, option, str(PROGRAM), *names).stdout.splitlines()]
    return {(twin, name): text for twin, name, text in lines}


@pytest.fixture(scope="module")
def ended(tmp_path_factory, native_parts):
    """Returns what a launch ended with, of its twin and name."""

    @functools.cache
    def all_of(are_quick: bool) -> dict[tuple[str, str], str]:
        names = [name for name in NAMES if (name in QUICK) is are_quick]
        return outcomes(tmp_path_factory.mktemp("triton"), "--sanitize=memory,init,race", names)

    return lambda twin, name: all_of(name in QUICK)[twin, name]


@pytest.mark.parametrize("name", some(OUTSIDE))
def test_an_address_outside_is_found(ended, name):
    expected = f"the Triton kernel {name} stopped: an illegal memory access in instance ("
    assert ended("wrong", name).startswith(expected)
    assert ended("wrong", name).endswith(f"just after {MEMORY}")


@pytest.mark.parametrize("name", some(UNFILLED))
def test_a_read_of_what_was_not_written_is_found(ended, name):
    expected = f"the Triton kernel {name} stopped: a read where nothing was written in instance (0, 0, 0): "
    assert ended("wrong", name).startswith(expected)
    assert ended("wrong", name).endswith(f" bytes into {MEMORY}")


@pytest.mark.parametrize("name", some(RACING))
def test_a_race_is_found(ended, name):
    text = (
        rf"the Triton kernel {name} stopped: a race with a (read|write) by instance \(\d, 0, 0\), that"
        rf" nothing orders, in instance \(\d, 0, 0\): a (read|write) of \d bytes, \d+ bytes into {MEMORY}"
    )
    assert re.fullmatch(text, ended("wrong", name))


@pytest.mark.parametrize("name", some(NAMES))
def test_nothing_is_said_of_a_right_kernel(ended, name):
    assert ended("right", name) == ""


@pytest.mark.long
def test_what_is_not_asked_for_is_not_checked(tmp_path, native_parts):
    texts = outcomes(tmp_path, "--sanitize=leak", NAMES)
    assert len(texts) == 2 * len(NAMES)
    assert set(texts.values()) == {""}
