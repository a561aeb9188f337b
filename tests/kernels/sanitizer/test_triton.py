"""Kernels in Triton whose addresses lie outside of their tensors, each beside its right twin."""

import pathlib

import pytest

from tests.kernels.sanitizer.test_kernels import run

PROGRAM = pathlib.Path(__file__).parent / "triton_kernels.py"
LINE = next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "torch.ones" in text)


def outcomes(folder: pathlib.Path, *options: str) -> dict[tuple[str, str], str]:
    lines = [line.split(" ", 2) for line in run(folder, *options, str(PROGRAM)).stdout.splitlines()]
    return {(twin, name): text for twin, name, text in lines}


@pytest.mark.usefixtures("native_parts")
def test_addresses_outside_are_found(tmp_path):
    found = outcomes(tmp_path, "--sanitize=memory")
    where = f"just after an allocation of 400 bytes on cuda:0, made at {PROGRAM.name}:{LINE}"
    assert len(found) == 18
    for (twin, name), text in found.items():
        if name.startswith("unfilled"):
            assert text == ""
            continue
        expected = f"the Triton kernel {name} stopped: an illegal memory access in instance ("
        assert text.startswith(expected) == (twin == "wrong"), (twin, name, text)
        assert text.endswith(where) == (twin == "wrong"), (twin, name, text)


@pytest.mark.usefixtures("native_parts")
def test_reads_of_what_was_not_written_are_found(tmp_path):
    found = {key: text for key, text in outcomes(tmp_path, "--sanitize=init").items() if "unfilled" in key[1]}
    assert len(found) == 6
    where = f" an allocation of 400 bytes on cuda:0, made at {PROGRAM.name}:{LINE}"
    for (twin, name), text in found.items():
        expected = (
            f"the Triton kernel {name} stopped: a read where nothing was written in instance (0, 0, 0): "
        )
        assert text.startswith(expected) == (twin == "wrong"), (twin, name, text)
        assert text.endswith(where) == (twin == "wrong"), (twin, name, text)


@pytest.mark.usefixtures("native_parts")
def test_addresses_are_not_checked_unless_that_is_asked_for(tmp_path):
    assert set(outcomes(tmp_path, "--sanitize=race").values()) == {""}
