"""Programs of several processes, each on its own software device, run without an error."""

from __future__ import annotations

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
