"""Missing waits of kernels in CUDA C++: ``--sanitize=sync`` knows each byte that they use."""

import re

import pytest

from tests.kernels.sanitizer.test_kernels import run

SOURCE = """
#include <cuda_runtime.h>
#include <exception>
#include <string>
__global__ void increase(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i * 2] += 1;
}
extern "C" const char* launch(float* a, int n, cudaStream_t stream) {
  static std::string found;
  try {
    increase<<<(n + 63) / 64, 64, 0, stream>>>(a, n);
    found = "";
  } catch (const std::exception& error) {
    found = error.what();
  }
  return found.c_str();
}
extern "C" cudaStream_t made() {
  cudaStream_t stream;
  return cudaStreamCreate(&stream) == cudaSuccess ? stream : nullptr;
}
extern "C" int first(const float* a, float* host) { return cudaMemcpy(host, a, 4, cudaMemcpyDeviceToHost); }
"""
PROGRAM = """
import ctypes, subprocess, sys, torch
from torch.utils import cpp_extension
command = [f"{cpp_extension.CUDA_HOME}/bin/nvcc", "-shared", "increase.cu", "-o", "./increase.so"]
subprocess.run(command, check=True)
launch = ctypes.CDLL("./increase.so").launch
launch.restype = ctypes.c_char_p
library = ctypes.CDLL("./increase.so")
library.made.restype = ctypes.c_void_p
blocking = torch.cuda.ExternalStream(library.made())
side, main = torch.cuda.Stream(), torch.cuda.current_stream()

def increase(tensor, stream, begin=0, count=100):
    address = ctypes.c_void_p(tensor.data_ptr() + 4 * begin)
    if error := launch(address, ctypes.c_int(count), ctypes.c_void_p(stream.cuda_stream)):
        raise RuntimeError(error.decode())

def ended(name, case):
    torch.cuda.synchronize()
    try:
        case(torch.ones(1000, device="cuda"))
        print(name)
    except Exception as error:
        print(name, str(error).partition("\\nException raised")[0].replace("\\n", "|"))

def right_input(x):
    side.wait_stream(main)
    increase(x, side)

def right_parts(x):  # the odd and the even ones, and another part
    side.wait_stream(main)
    increase(x, side)
    increase(x, main, begin=1)
    increase(x, main, begin=200)
    x[300:].zero_()

def right_copy(x):  # it waits for the default stream, and that for the blocking one
    increase(x, blocking)
    value = ctypes.c_float()
    assert library.first(ctypes.c_void_p(x.data_ptr()), ctypes.byref(value)) == 0
    assert value.value == 2
    increase(x, side)

def wrong_input(x):
    increase(x, side)

def wrong_result(x):
    side.wait_stream(main)
    increase(x, side)
    return x.sum()

def wrong_parts(x):
    side.wait_stream(main)
    increase(x, side)
    increase(x, main, begin=198)

for name in sys.argv[1:]:
    ended(name, globals()[name])
"""
WRONG = {
    "wrong_input": r"default stream of cuda:0 writes memory\|.*: increase on stream \d+ of cuda:0 writes 4 b",
    "wrong_result": r"increase on stream \d+ of cuda:0 writes memory\|.*: sum on the default stream",
    "wrong_parts": r"increase on stream \d+ .*: increase on the default stream of cuda:0 writes 4 b",
}
RIGHT = ("right_input", "right_parts", "right_copy")


@pytest.fixture(scope="module")
def found(tmp_path_factory, native_parts):
    folder = tmp_path_factory.mktemp("waits")
    (folder / "increase.cu").write_text(SOURCE)
    lines = run(folder, "--sanitize=sync", "-c", PROGRAM, *WRONG, *RIGHT).stdout.splitlines()
    return dict(line.partition(" ")[::2] for line in lines)


@pytest.mark.parametrize("name", WRONG)
def test_a_missing_wait_is_found(found, name):
    assert found[name].startswith("CUDA error: a stream does not wait for another")
    assert re.search(WRONG[name], found[name])


def test_nothing_is_said_of_right_ones(found):
    assert [found[name] for name in RIGHT] == ["", "", ""]
