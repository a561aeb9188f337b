"""Triton kernels on the software device against torch's own operators, and against triton's interpreter."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch.nn import functional

from benchmarks.pairs import Pair, Work, run

INTERPRETED = "TRITON_INTERPRET"


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < count) + tl.load(y + i, mask=i < count), mask=i < count)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    a = tl.load(x + row + j, mask=j < columns, other=-float("inf")).to(tl.float32)
    a = tl.exp(a - tl.max(a, 0))
    tl.store(out + row + j, a / tl.sum(a, 0), mask=j < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    mask = j < columns
    a = tl.load(x + row + j, mask=mask, other=0.0).to(tl.float32)
    centered = tl.where(mask, a - tl.sum(a, 0) / columns, 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, 0) / columns + epsilon)
    result = centered * scale * tl.load(weight + j, mask=mask) + tl.load(bias + j, mask=mask)
    tl.store(out + row + j, result, mask=mask)


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    at, bt = a + i[:, None] * K + k[None, :], b + k[:, None] * N + j[None, :]
    total = tl.zeros([BM, BN], tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(at), tl.load(bt), total, input_precision="ieee")
        at += BK
        bt += BK * N
    tl.store(c + i[:, None] * N + j[None, :], total)


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * length * D
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + head + i[:, None] * D + d[None, :])
    most = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    result = tl.zeros([BM, D], tl.float32)
    for start in range(0, length, BN):
        j = start + tl.arange(0, BN)
        key = tl.load(k + head + j[None, :] * D + d[:, None])
        scores = tl.dot(query, key, input_precision="ieee") * scale
        higher = tl.maximum(most, tl.max(scores, 1))
        weights, kept = tl.exp2(scores - higher[:, None]), tl.exp2(most - higher)
        value = tl.load(v + head + j[:, None] * D + d[None, :])
        result = tl.dot(weights.to(value.dtype), value, result * kept[:, None], input_precision="ieee")
        total, most = total * kept + tl.sum(weights, 1), higher
    tl.store(out + head + i[:, None] * D + d[None, :], (result / total[:, None]).to(out.dtype.element_ty))


def softmaxes(columns: int, dtype: torch.dtype) -> tuple[Work, Work]:
    """Return the softmax of rows in both ways."""
    x = torch.randn(512, columns, device="cuda").to(dtype)
    out, block = torch.empty_like(x), triton.next_power_of_2(columns)
    return lambda: softmax[(512,)](x, out, columns, BLOCK=block), lambda: torch.softmax(x, 1)


def norms(columns: int, dtype: torch.dtype) -> tuple[Work, Work]:
    """Return the normalisation of rows in both ways."""
    x, weight, bias = (torch.randn(*n, columns, device="cuda").to(dtype) for n in ((512,), (), ()))
    out, block = torch.empty_like(x), triton.next_power_of_2(columns)
    return (
        lambda: layer_norm[(512,)](x, weight, bias, out, columns, 1e-5, BLOCK=block),
        lambda: functional.layer_norm(x, [columns], weight, bias),
    )


def sums(columns: int, dtype: torch.dtype) -> tuple[Work, Work]:
    """Return the sum of two vectors in both ways."""
    count = 1024 * columns
    x, y, out = (torch.randn(count, device="cuda").to(dtype) for _ in range(3))
    return lambda: add[(columns,)](x, y, out, count, BLOCK=1024), lambda: torch.add(x, y, out=out)


def products(size: int, dtype: torch.dtype) -> tuple[Work, Work]:
    """Return the product of two matrices in both ways."""
    a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    out, grid = torch.empty(size, size, device="cuda"), (size // 64, size // 64)
    return lambda: matmul[grid](a, b, out, size, size, BM=64, BN=64, BK=32), lambda: a @ b


def attentions(length: int, dtype: torch.dtype) -> tuple[Work, Work]:
    """Return attention in both ways."""
    q, k, v = (torch.randn(8, length, 64, device="cuda").to(dtype) for _ in range(3))
    out, scale = torch.empty_like(q), 0.125 * 1.4426950408889634
    return (
        lambda: attention[(length // 64, 8)](q, k, v, out, length, scale, BM=64, BN=64, D=64),
        lambda: functional.scaled_dot_product_attention(q, k, v),
    )


CASES = {
    "sum of 1024 x {}": (sums, (1024,)),
    "softmax of 512 x {}": (softmaxes, (781, 1024)),
    "layer norm of 512 x {}": (norms, (1000, 1024)),
    "matrix product of {}": (products, (512,)),
    "attention over {}": (attentions, (512,)),
}


def pairs() -> Iterator[Pair]:
    """Yield the same work in a kernel and in torch."""
    for name, (make, sizes) in CASES.items():
        for size, dtype in itertools.product(sizes, (torch.float32, torch.float16, torch.bfloat16)):
            torch.manual_seed(0)
            yield f"{name.format(size)}, {str(dtype).removeprefix('torch.')}", *make(size, dtype)


def seconds(work: Work) -> float:
    """Return how long a work takes that has run before."""
    work()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measured() -> dict[str, float]:
    """Return how long the kernels for float32 take."""
    return {name: seconds(ours) for name, ours, _ in pairs() if name.endswith("float32")}


def compare_with_interpreter() -> None:
    """Print how much longer the interpreter takes, in a process of its own."""
    import morph

    morph.activate("cpu")
    code = "from benchmarks import kernels as k; print(k.json.dumps(k.measured()))"
    command = [sys.executable, "-m", "morph", "--backend", "cpu", "-c", code]
    done = subprocess.run(
        command, env={**os.environ, INTERPRETED: "1"}, capture_output=True, text=True, check=True
    )
    interpreted, compiled = json.loads(done.stdout.splitlines()[-1]), measured()
    for name, took in interpreted.items():
        print(f"{name:75} interpreted {took * 1e3:9,.1f} ms {took / compiled[name]:8,.0f}x")


if __name__ == "__main__":
    if "--interpreter" in sys.argv:
        compare_with_interpreter()
    else:
        run(__doc__, pairs, rounds=50, seconds=0.003)
