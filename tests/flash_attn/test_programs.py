"""Whole programs: transformers models."""

import pathlib

import pytest

from tests.platforms import Platform

PROGRAMS = pathlib.Path(__file__).parent / "programs"
START = """
import runpy, sys
sys.modules["torch_npu"] = None  # transformers imports it where it is installed, and it needs CANN
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(autouse=True)
def everywhere() -> None:
    """Overrides the fixture that adds the worker: these tests start their own processes."""


@pytest.mark.needs("transformers")
@pytest.mark.long
@pytest.mark.platforms("cpu", "simulated-musa")
def test_transformers_with_flash_attn_compute_what_they_do_without(platform: Platform) -> None:
    versions = ("2", "3", "4") if platform.name == "cpu" else ("2",)
    done = platform.run(START, PROGRAMS / "llama.py", *versions)
    assert done.stdout.count(" hold") == 6 * len(versions)
    assert str(["flash_attn", "flash_attn_interface", "flash_attn.cute"][: len(versions)]) in done.stdout
