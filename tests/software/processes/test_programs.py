"""Programs of several processes, each on its own software device, run without an error."""

import pathlib

import pytest

from tests.platforms import Platform

FOLDER = pathlib.Path(__file__).parent


@pytest.mark.long
@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("name", ["collectives", "groups", "parallelism", "hand_over", "captures"])
def test_four_devices(platform: Platform, name: str) -> None:
    variables = {"MORPH_DEVICES": "4", "PYTHONWARNINGS": "ignore"}
    done = platform.run(FOLDER / f"{name}.py", environment=variables, timeout=300)
    assert done.stdout.endswith("done\n")


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    ("profile", "wanted"), [("h200", "reduced"), pytest.param("a100", "refused", marks=pytest.mark.long)]
)
def test_eight_bits_are_reduced_where_nccl_does(platform: Platform, profile: str, wanted: str) -> None:
    variables = {"MORPH_DEVICES": "2", "MORPH_DEVICE_PROFILE": profile}
    assert platform.run(FOLDER / "float8.py", wanted, environment=variables).stdout == "done\n"
