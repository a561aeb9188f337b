"""Kernels in triton on a vendor's device: decorating works, and a launch says which triton to install."""

import importlib.util
import pathlib

import pytest

from tests.platforms import Platform

pytestmark = pytest.mark.platforms("npu", "simulated-mlu")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="triton is not installed"
)

KERNELS = """
import torch, triton, triton.language as tl

@triton.jit
def plain(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)

@triton.autotune(configs=[triton.Config({"B": 128}, num_warps=4)], key=["n"])
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % 2 == 0})
@triton.jit
def tuned(x, n, B: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)

x = torch.zeros(128, device="cuda")
assert triton.cdiv(5, 2) == 3
for launch in (lambda: plain[(1,)](x, B=128), lambda: tuned[(1,)](x, 128)):
    try:
        launch()
    except RuntimeError as error:
        print(type(error).__name__, error)
assert not x.any()
"""

ADVICE = {
    "npu": "the installed triton does not compile for Huawei Ascend; install triton-ascend",
    "simulated-mlu": "the installed triton does not compile for Cambricon; install Cambricon's own",
}


@needs_triton
@pytest.mark.long_on("simulated-mlu")
def test_a_launch_says_which_triton_to_install(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "kernels.py"  # triton reads the source
    program.write_text(KERNELS)
    lines = platform.run(program).stdout.splitlines()
    assert [line.startswith(f"NoDriverError {ADVICE[platform.name]}") for line in lines[:2]] == [True, True]


@pytest.mark.long
@needs_triton
@pytest.mark.platforms("npu")
def test_a_triton_without_a_driver_is_no_compiler_for_inductor(platform: Platform) -> None:
    code = "import torch\nprint(torch.compile(torch.sin)(torch.zeros(2, device='cuda')).tolist())"
    assert platform.run(code).stdout == "[0.0, 0.0]\n"


@pytest.mark.skipif(importlib.util.find_spec("triton") is not None, reason="triton is installed")
def test_without_any_triton_the_import_says_which_to_install(platform: Platform) -> None:
    code = "import torch\ntry: import triton\nexcept ModuleNotFoundError as error: print(error)"
    said = ADVICE[platform.name].partition("; ")[2]
    assert platform.run(code).stdout.startswith(f"No module named 'triton': {said}")
