"""What `--sanitize` costs: `python -m benchmarks.sanitizer`.

Three kernels on one core, each checked and not: a sum of two arrays, which only reads and writes; a product
of matrices by tiles in shared memory; a sum by shuffles. And two training steps: of two layers of a
transformer, and of a small perceptron. Prints how many times longer each takes when it is checked.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile

CHECKS = ("memory", "init", "race", "memory,race")
OF_STEPS = ("sync", "memory", "init", "host")
SOURCE = r"""
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) c[i] = 2 * a[i] + b[i];
}
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float x[16][16], y[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += x[threadIdx.y][i] * y[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
__global__ void total(const float* a, float* c, int n) {
  float sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += a[i];
  for (int by = 16; by; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
  if (threadIdx.x % 32 == 0) atomicAdd(c, sum);
}
extern "C" void run_add(const float* a, const float* b, float* c) { add<<<256, 256>>>(a, b, c, 65536); }
extern "C" void run_multiply(const float* a, const float* b, float* c) {
  multiply<<<dim3(16, 16), dim3(16, 16)>>>(a, b, c, 256);
}
extern "C" void run_total(const float* a, const float*, float* c) { total<<<32, 256>>>(a, c, 65536); }
"""
PROGRAM = """
import ctypes, json, subprocess, time, torch
from torch.utils import cpp_extension
command = [f"{cpp_extension.CUDA_HOME}/bin/nvcc", "-shared", "kernels.cu", "-o", "./kernels.so"]
subprocess.run(command, check=True)
library = ctypes.CDLL("./kernels.so")
torch.set_num_threads(1)
tensors = [torch.rand(65536, device="cuda") for _ in range(3)]
words = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
seconds = {}
for name in ("add", "multiply", "total"):
    times = []
    for _ in range(6):
        began = time.perf_counter()
        library[f"run_{name}"](*words)
        times.append(time.perf_counter() - began)
    seconds[name] = min(times)
print(json.dumps(seconds))
"""
STEPS = """
import json, time, torch
from torch import nn
torch.set_num_threads(1)
layers = [nn.TransformerEncoderLayer(128, 4, 256, batch_first=True) for _ in range(2)]
models = {"transformer": nn.Sequential(*layers), "perceptron": nn.Sequential(nn.Linear(128, 32), nn.ReLU())}
x = torch.randn(8, 64, 128).pin_memory()
seconds = {}
for name, model in models.items():
    optimizer = torch.optim.AdamW(model.cuda().parameters())
    times = []
    for _ in range(60):
        began = time.perf_counter()
        model(x.to("cuda", non_blocking=True)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    seconds[name] = min(times)
print(json.dumps(seconds))
"""


def measured(program: str, checks: str, folder: pathlib.Path) -> dict[str, float]:
    """Return the seconds of each kernel, or of each step.

    Args:
        program: Measures them.
        checks: What is checked; empty for nothing.
        folder: Holds the kernels.
    """
    options = [f"--sanitize={checks}"] if checks else []
    command = [sys.executable, "-m", "morph", "-q", "--backend", "cpu", *options, "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[1])}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def compare(program: str, all_checks: tuple[str, ...], folder: pathlib.Path) -> None:
    """Print a table.

    Args:
        program: Measures its columns.
        all_checks: Its rows.
        folder: Holds the kernels.
    """
    plain = measured(program, "", folder)
    print(f"{'':14}" + "".join(f"{kernel:>12}" for kernel in plain))
    print(f"{'unchecked':14}" + "".join(f"{1e3 * each:9.2f} ms" for each in plain.values()))
    for checks in all_checks:
        seconds = measured(program, checks, folder)
        ratios = [seconds[kernel] / plain[kernel] for kernel in plain]
        print(f"{checks:14}" + "".join(f"{ratio:11.2f}x" for ratio in ratios), flush=True)


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kernels.cu").write_text(SOURCE)
        compare(PROGRAM, CHECKS, folder)
        compare(STEPS, OF_STEPS, folder)


if __name__ == "__main__":
    main()
