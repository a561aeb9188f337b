"""Memory of the host in kernels, and device memory in what runs on the host: ``--sanitize=host``."""

import re

import pytest

from tests.kernels.sanitizer.test_kernels import ILLEGAL, run

SOURCE = """
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <exception>
#include <string>
__constant__ float weight = 2;
__device__ float bias;
struct Given { const float* a; float* b; };
__global__ void scale(Given given, int n) {
  __shared__ float kept[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  kept[threadIdx.x] = given.a[i];
  float next = __shfl_down_sync(0xffffffffu, kept[threadIdx.x], 1);
  given.b[i] = weight * kept[threadIdx.x] + bias + 0 * next;
}
extern "C" {
const char* launch(const float* a, float* b, int n) {
  static std::string found;
  try {
    scale<<<(n + 63) / 64, 64>>>(Given{a, b}, n);
    found = "";
  } catch (const std::exception& error) {
    found = error.what();
  }
  return found.c_str();
}
float first(const float* a) { return a[0]; }
float sum_of_plain_pointers(const float* a, int n) { return thrust::reduce(a, a + n); }
float sum(const float* a, int n) { return thrust::reduce(thrust::device, a, a + n); }
float sum_of_device_pointers(const float* a, int n) {
  thrust::device_ptr<const float> begin(a);
  thrust::device_vector<float> copy(begin, begin + n);
  launch(thrust::raw_pointer_cast(copy.data()), thrust::raw_pointer_cast(copy.data()), n);
  return *begin + thrust::reduce(copy.begin(), copy.end());
}
void* registered(int n) {
  void* memory = malloc(n * sizeof(float));
  return cudaHostRegister(memory, n * sizeof(float), 0) ? nullptr : memory;
}
void* pinned(int n) {
  void* memory = nullptr;
  return cudaMallocHost(&memory, n * sizeof(float)) ? nullptr : memory;
}
void* managed(int n) {
  void* memory = nullptr;
  return cudaMallocManaged(&memory, n * sizeof(float)) ? nullptr : memory;
}
int forget(void* memory) { return cudaFree(memory); }
int fill(float* a, int n) { return cudaMemset(a, 0, n * sizeof(float)) | cudaDeviceSynchronize(); }
}
"""
PROGRAM = """
import ctypes, subprocess, torch
from torch.utils import cpp_extension
subprocess.run([f"{cpp_extension.CUDA_HOME}/bin/nvcc", "-shared", "hosts.cu", "-o", "./hosts.so"], check=True)
library = ctypes.CDLL("./hosts.so")
library.launch.restype = ctypes.c_char_p
for name in ("registered", "pinned", "managed"): getattr(library, name).restype = ctypes.c_void_p
for name in ("first", "sum", "sum_of_plain_pointers", "sum_of_device_pointers"):
    getattr(library, name).restype = ctypes.c_float
SIZE = 200
x, y = (torch.full((SIZE,), value, device="cuda") for value in (3.0, 0.0))
address = lambda value: ctypes.c_void_p(value.data_ptr() if hasattr(value, "data_ptr") else value)

def launch(a, b):
    if error := library.launch(address(a), address(b), SIZE): raise RuntimeError(error.decode())
    torch.cuda.synchronize()

def right_device(): launch(x, y); assert y.sum() == 6 * SIZE
def right_pinned_tensor(): launch(torch.ones(SIZE).pin_memory(), y); assert y.sum() == 2 * SIZE
def given(memory):
    floats = (ctypes.c_float * SIZE).from_address(memory)
    floats[:] = range(SIZE)
    launch(memory, y)
    assert y.sum() == SIZE * (SIZE - 1)
    launch(x, memory)
    assert floats[9] == 6
def right_registered(): given(library.registered(SIZE))
def right_pinned(): given(library.pinned(SIZE))
def right_managed():
    memory = library.managed(SIZE)
    given(memory)
    assert library.forget(ctypes.c_void_p(memory)) == 0
def right_sums():
    assert library.sum(address(x), SIZE) == 3 * SIZE
    assert library.sum_of_device_pointers(address(x), SIZE) == 3 + 6 * SIZE
def right_fill(): z = x.clone(); assert library.fill(address(z), SIZE) == 0 and z.sum() == 0
def wrong_input(): launch(torch.ones(SIZE), y)
def wrong_output(): launch(x, torch.ones(SIZE))
def wrong_memory_of_ctypes(): launch(ctypes.addressof((ctypes.c_float * SIZE)()), y)
def wrong_function_of_the_host(): library.first(address(x))
def wrong_sum_of_plain_pointers(): library.sum_of_plain_pointers(address(x), SIZE)

for name in sorted(each for each in globals() if each.startswith(("right_", "wrong_"))):
    try:
        globals()[name]()
        print(name)
    except RuntimeError as error:
        print(name, str(error).partition("\\nException raised")[0].replace("\\n", "|"))
"""
WRONG, RIGHT = (re.findall(rf"^def ({twin}_\w+)", PROGRAM, re.MULTILINE) for twin in ("wrong", "right"))
USED = "CUDA error: the host uses device memory (found by MORPH_SANITIZE=host)|  "


@pytest.fixture(scope="module")
def found(tmp_path_factory, native_parts):
    """What each piece ended with, by its name."""
    folder = tmp_path_factory.mktemp("hosts")
    (folder / "hosts.cu").write_text(SOURCE)
    lines = run(folder, "--sanitize=host", "-c", PROGRAM).stdout.splitlines()
    return dict(line.partition(" ")[::2] for line in lines)


@pytest.mark.parametrize("name", ["wrong_input", "wrong_output", "wrong_memory_of_ctypes"])
def test_memory_of_the_host_in_a_kernel_is_found(found, name):
    what = "write" if name == "wrong_output" else "read"
    assert re.fullmatch(
        rf"{ILLEGAL}: hosts\.cu:\d+ \(scale\): a {what} of 4 bytes of memory of the host that is "
        r"neither pinned nor managed, block \[0,0,0\], thread \[0,0,0\]",
        found[name],
    )


@pytest.mark.parametrize("name", ["wrong_function_of_the_host", "wrong_sum_of_plain_pointers"])
def test_device_memory_in_what_runs_on_the_host_is_found(found, name):
    assert found[name].startswith(f"{USED}0 bytes into an allocation of 800 bytes on cuda:0, made at ")


def test_nothing_is_said_of_memory_that_both_can_use(found):
    assert {name: found[name] for name in RIGHT} == dict.fromkeys(RIGHT, "")
