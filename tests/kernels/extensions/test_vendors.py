"""On a vendor's device a CUDA extension is refused where it is asked for, by name and with the way out."""

import subprocess
import sys

import pytest

PROGRAM = """
from torch.utils import cpp_extension
for call in (
    lambda: cpp_extension.CUDAExtension("ops", ["ops.cpp", "ops.cu"]),
    lambda: cpp_extension.load("ops", ["ops.cpp", "ops.cu"]),
    lambda: cpp_extension.load_inline("ops", cpp_sources="", cuda_sources="__global__ void f() {}"),
):
    try:
        call()
    except OSError as error:
        print(error)
assert cpp_extension.CppExtension("host", ["host.cpp"]).name == "host"
"""


@pytest.mark.parametrize(
    ("vendor", "way"),
    [("npu", "Ascend C"), ("mlu", "BANG C"), ("musa", "torch_musa.utils.simple_porting"), ("xpu", "SYCL")],
)
def test_a_cuda_extension_is_refused_at_the_call(vendor, way):
    command = [sys.executable, "-m", "morph", "--rehearse", vendor, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    refusals = [line for line in done.stdout.splitlines() if "holds CUDA C++" in line]
    assert len(refusals) == 3, done.stderr
    assert [line.partition("(")[0] for line in refusals] == ["CUDAExtension", "load", "load_inline"]
    assert all(way in line for line in refusals)
