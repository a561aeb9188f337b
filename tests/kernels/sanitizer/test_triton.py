"""Wrong kernels in Triton, each beside its right twin."""

import pathlib
import re

import pytest

from tests.kernels.sanitizer.test_kernels import run

PROGRAM = pathlib.Path(__file__).parent / "triton_kernels.py"
LINE = next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "torch.ones" in text)
NAMES = re.findall(r'"(\w+)": \(', PROGRAM.read_text())
UNFILLED, RACING = ([each for each in NAMES if each.startswith(kind)] for kind in ("unfilled", "racing"))
OUTSIDE = [each for each in NAMES if each not in {*UNFILLED, *RACING}]
MEMORY = f"an allocation of 400 bytes on cuda:0, made at {PROGRAM.name}:{LINE}"


def outcomes(folder: pathlib.Path, *options: str) -> dict[tuple[str, str], str]:
    lines = [line.split(" ", 2) for line in run(folder, *options, str(PROGRAM)).stdout.splitlines()]
    return {(twin, name): text for twin, name, text in lines}


@pytest.fixture(scope="module")
def found(tmp_path_factory, native_parts):
    """What each launch ended with, by its twin and name."""
    return outcomes(tmp_path_factory.mktemp("triton"), "--sanitize=memory,init,race")


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_address_outside_is_found(found, name):
    expected = f"the Triton kernel {name} stopped: an illegal memory access in instance ("
    assert found["wrong", name].startswith(expected)
    assert found["wrong", name].endswith(f"just after {MEMORY}")


@pytest.mark.parametrize("name", UNFILLED)
def test_a_read_of_what_was_not_written_is_found(found, name):
    expected = f"the Triton kernel {name} stopped: a read where nothing was written in instance (0, 0, 0): "
    assert found["wrong", name].startswith(expected)
    assert found["wrong", name].endswith(f" bytes into {MEMORY}")


@pytest.mark.parametrize("name", RACING)
def test_a_race_is_found(found, name):
    text = (
        rf"the Triton kernel {name} stopped: a race with a (read|write) by instance \(\d, 0, 0\), that"
        rf" nothing orders, in instance \(\d, 0, 0\): a (read|write) of \d bytes, \d+ bytes into {MEMORY}"
    )
    assert re.fullmatch(text, found["wrong", name])


def test_nothing_is_said_of_a_right_kernel(found):
    assert {name: text for (twin, name), text in found.items() if twin == "right"} == dict.fromkeys(NAMES, "")


@pytest.mark.long
def test_what_is_not_asked_for_is_not_checked(tmp_path, native_parts):
    texts = outcomes(tmp_path, "--sanitize=leak")
    assert len(texts) == 2 * len(NAMES)
    assert set(texts.values()) == {""}
