"""Which seam is opened, what it prints, and what opening it costs."""

import pathlib

import pytest

from tests import origin
from tests.platforms import Platform

pytestmark = pytest.mark.platforms("npu")

OPEN = """
import sys
import torch
from morph.device.seam import open_seam
seam = open_seam(lambda line: print("said:", line))
seam.engage("npu")
assert torch.ones(1, device="cuda").device.type == "npu"
print("kind:", seam.kind)
"""


def opened(platform: Platform, **environment: str) -> str:
    return origin.run(platform, OPEN, environment=environment).stdout


def test_native_by_default_and_says_nothing_once_built(platform: Platform) -> None:
    assert opened(platform) == "kind: native\n"


def test_the_python_seam_when_asked(platform: Platform) -> None:
    assert opened(platform, MORPH_SEAM="python") == "kind: python\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("compiler", "reason"),
    [
        ("no-such-compiler", "no C++ compiler: no-such-compiler (CXX) not found"),
        ("false", "the C++ part 'seam' did not build: the compiler ended with status 1"),
    ],
)
def test_the_python_seam_where_nothing_builds(
    platform: Platform, tmp_path: pathlib.Path, compiler: str, reason: str
) -> None:
    empty = {"MORPH_CACHE": str(tmp_path), "TMPDIR": str(tmp_path)}
    said = opened(platform, **empty, CXX=compiler).splitlines()
    assert f"said: using the slower Python seam: {reason}" in said[-2]
    assert said[-1] == "kind: python"


def test_opening_what_is_built_imports_nothing_of_torchs(platform: Platform) -> None:
    program = """
import sys, torch
before = set(sys.modules)
from morph.device.seam import open_seam
open_seam().engage("npu")
print(*set(sys.modules) - before)
"""
    modules = origin.run(platform, program).stdout.split()
    assert "morph.device.seam" in modules
    assert not [name for name in modules if name.startswith("torch")]
