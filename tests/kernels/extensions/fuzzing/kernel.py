"""Random kernels, the file that launches them, and what it must print."""

import random

from tests.kernels.extensions.fuzzing.blocks import TOTALS, Blocks
from tests.kernels.extensions.fuzzing.expressions import INPUT
from tests.kernels.extensions.fuzzing.functions import PRELUDE
from tests.kernels.extensions.fuzzing.numbers import TYPES, bits, wrapped
from tests.kernels.extensions.fuzzing.statements import LOCAL, sequence
from tests.kernels.extensions.fuzzing.threads import Thread, run_block

SIZES = ((32, 1), (64, 1), (8, 8), (32, 3), (16, 8))
SLOTS = 96  # numbers that a thread stores

HEAD = f"""#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <type_traits>
namespace cg = cooperative_groups;
{PRELUDE}
__device__ void met() {{ __syncthreads(); }}
using Kernel = void (*)(const int*, long long*, unsigned*);
static void run(Kernel kernel, const char* name, int blocks, dim3 threads, int bytes) {{
  int numbers[{INPUT}];
  for (int i = 0; i < {INPUT}; ++i) numbers[i] = int(unsigned(i) * 2654435761u) >> (i % 20);
  const int count = blocks * threads.x * threads.y * {SLOTS};
  int* input; long long* out; unsigned* totals;
  cudaMalloc(&input, sizeof numbers);
  cudaMemcpy(input, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  cudaMallocManaged(&out, count * sizeof *out);
  cudaMallocManaged(&totals, {TOTALS} * sizeof *totals);
  for (int i = 0; i < count; ++i) out[i] = 0;
  for (int i = 0; i < {TOTALS}; ++i) totals[i] = 0;
  kernel<<<blocks, threads, bytes>>>(input, out, totals);
  const auto error = cudaDeviceSynchronize();
  std::printf("%s %s\\n", name, cudaGetErrorString(error));
  for (int i = 0; i < {TOTALS}; ++i) std::printf("%x ", totals[i]);
  for (int i = 0; i < count; ++i) std::printf("%llx ", (unsigned long long)out[i]);
  std::printf("\\n");
  cudaFree(input), cudaFree(out), cudaFree(totals);
}}
"""


class Kernel:
    """A random kernel of a seed.

    Attributes:
        name: Its name.
        lines: It in CUDA C++.
    """

    def __init__(self, seed):
        draw = random.Random(seed)
        self.name, self._size, self._blocks = f"kernel_{seed}", draw.choice(SIZES), draw.choice((1, 2, 3))
        self.threads = self._size[0] * self._size[1]
        self._drawn = drawn = Blocks(draw, self.threads)
        first = sequence([drawn.define(drawn.any(type, 1)) for type in (*TYPES, "float")])
        body = [drawn.together(2) if draw.random() < 0.5 else drawn.one(2) for _ in range(draw.randint(4, 8))]
        if draw.random() < 0.3:
            body += [drawn.returning(), drawn.mixed(1)]
        self._body = sequence([first, *body, drawn.stored()])
        self._dynamic = draw.choice([None, *drawn.shared])
        self.lines = [*self._head(), *(f"  {line}" for line in self._body.lines), "}"]

    def _head(self):
        parameters = "const int* __restrict__ input, long long* out, unsigned* totals"
        yield f"__global__ void {self.name}({parameters}) {{"
        yield "  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;"
        yield f"  out += (blockIdx.x * {self.threads} + thread) * {SLOTS};"
        yield f"  int local[{LOCAL}] = {{}};"
        for name, type in self._drawn.shared.items():
            if name == self._dynamic:
                yield "  extern __shared__ long long dynamic[];"
                yield f"  {type}* {name} = reinterpret_cast<{type}*>(dynamic);"
            else:
                yield f"  __shared__ {type} {name}[{self.threads}];"
            yield f"  {name}[thread] = 0;"
        yield "  __syncthreads();"

    @property
    def launch(self):
        """Its launch, on the host."""
        x, y = self._size
        bytes = 8 * self.threads if self._dynamic else 0
        return f'run({self.name}, "{self.name}", {self._blocks}, dim3({x}, {y}), {bytes});'

    def numbers(self):
        """Return what it must have stored: the sums, and each thread's numbers."""
        totals, stored = [0] * TOTALS, []
        for block in range(self._blocks):
            shared = {name: [0] * self.threads for name in self._drawn.shared}
            sizes = (*self._size, self._blocks)
            threads = [
                Thread(index, block, sizes, _input(), shared, totals, {"local": [0] * LOCAL})
                for index in range(self.threads)
            ]
            run_block(threads, self._body.run)
            for thread in threads:
                out = thread.variables["out"]
                stored += [*out, *[0] * (SLOTS - len(out))]
        return totals + stored


def _input():
    return [wrapped(bits(i * 2654435761), "int") >> i % 20 for i in range(INPUT)]


def source(kernels):
    """Return the program that launches kernels and prints what they stored."""
    lines = [line for kernel in kernels for line in kernel.lines]
    launches = [f"  {kernel.launch}" for kernel in kernels]
    return "\n".join([HEAD, *lines, "int main() {", *launches, "}", ""])


def printed(text):
    """Return what a program printed: by kernel, what CUDA says of it, and the numbers."""
    lines = text.splitlines()
    return {
        head.split(" ", 1)[0]: (head.split(" ", 1)[1], [int(number, 16) for number in numbers.split()])
        for head, numbers in zip(lines[::2], lines[1::2], strict=True)
    }
