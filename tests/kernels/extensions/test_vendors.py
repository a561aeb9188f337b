"""On a vendor's device a CUDA extension is refused where it is asked for; on ROCm torch translates it."""

import pathlib
import shutil
import subprocess
import sys

import pytest

KERNELS = pathlib.Path(__file__).parent / "device" / "kernels"

PROGRAM = """
import subprocess, sys
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
nvcc = cpp_extension.CUDA_HOME + "/bin/nvcc"
said = subprocess.check_output([nvcc, "-V"], text=True).split()
print(said[said.index("release") + 1])
sys.exit(subprocess.run([nvcc, "-c", "ops.cu", "-o", "ops.o"]).returncode)
"""
WAYS = {"npu": "Ascend C", "mlu": "BANG C", "musa": "torch_musa.utils.simple_porting", "xpu": "SYCL"}


@pytest.mark.parametrize("vendor", WAYS)
def test_a_cuda_extension_is_refused_at_the_call_and_by_the_compiler(vendor):
    command = [sys.executable, "-m", "morph", "--rehearse", vendor, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    refusals = [line for line in done.stdout.splitlines() if "holds CUDA C++" in line]
    assert len(refusals) == 3, done.stderr
    assert [line.partition("(")[0] for line in refusals] == ["CUDAExtension", "load", "load_inline"]
    assert all(WAYS[vendor] in line for line in refusals)
    assert done.returncode == 1
    assert float(done.stdout.splitlines()[-1].strip(",")) >= 12
    assert "nvcc: ops.cu: CUDA C++, which " in done.stderr


ON_AMD = """
import sys
from torch.utils import cpp_extension
from torch.utils.hipify.hipify_python import hipify
folder, source = sys.argv[1], sys.argv[1] + "/tensors.cu"
hipify(folder, output_directory=folder, includes=[folder + "/*"], extra_files=[source], show_detailed=False,
       is_pytorch_extension=True, hipify_extra_files_only=True)
print(cpp_extension.CUDAExtension.__module__)
"""


def test_on_rocm_torch_translates_the_sources(tmp_path):
    shutil.copy(KERNELS / "tensors.cu", tmp_path)
    command = [sys.executable, "-m", "morph", "--rehearse", "rocm", "-c", ON_AMD, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "torch.utils.cpp_extension", done.stderr
    translated = (tmp_path / "tensors.hip").read_text()
    assert '#include "hip/hip_runtime.h"' in translated
    assert "#include <c10/hip/HIPGuard.h>" in translated
    assert "hipLaunchKernelGGL(( add_rows<scalar_t>), dim3(grid), dim3(block), 0, stream," in translated
