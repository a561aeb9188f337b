"""The time of morph's flash_attn compared with the device's own attention, and its memory.

The device's own is ``scaled_dot_product_attention``, or ``npu_fusion_attention`` on Ascend.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks import attention_kernels
from benchmarks.attention_kernels import Attention
from morph.verification.measurement.timing import Comparison, compare

Work = Callable[[], object]

LENGTHS = tuple(1024 * 2**n for n in range(6))
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def inputs(
    dtype: torch.dtype, tokens: int, keys: int, heads: int, key_heads: int, **sizes: int
) -> list[Tensor]:
    """Return queries, keys and values on the device, in flash_attn's layout."""
    torch.manual_seed(0)
    batch, size = sizes.get("batch", 1), sizes.get("size", 64)
    shapes = ((batch, tokens, heads, size), *((batch, keys, key_heads, size),) * 2)
    return [torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True) for shape in shapes]


def forward(attend: Attention, tensors: list[Tensor]) -> Work:
    """Return the forward pass, as in inference."""

    def work() -> None:
        with torch.no_grad():
            attend(*tensors)

    return work


def forward_and_backward(attend: Attention, tensors: list[Tensor]) -> Work:
    """Return the forward and backward passes."""
    gradient = torch.randn_like(tensors[0])
    return lambda: torch.autograd.grad(attend(*tensors), tensors, gradient)


def flash(**options: Any) -> Attention:
    """Return flash_attn's attention."""
    from flash_attn import flash_attn_func

    return lambda *tensors: flash_attn_func(*tensors, **options)


def dense(backend: str, dtype: torch.dtype, lengths: list[int]) -> Iterator[tuple[str, Work, Work]]:
    """Yield the cases that torch's attention can express."""
    for tokens, size, causal in itertools.product(lengths, (64, 128), (False, True)):
        heads = 8 if tokens < 4096 else 1
        tensors = inputs(dtype, tokens, tokens, heads, heads, size=size)
        own = attention_kernels.dense(backend, causal, tokens, tokens)
        name = f"{tokens} tokens, {heads} heads of {size}{', causal' * causal}"
        yield from both_passes(name, flash(causal=causal), own, tensors)
    tensors = inputs(dtype, 1024, 1024, 8, 2)
    own = attention_kernels.dense(backend, True, 1024, 1024)
    yield from both_passes("1024 tokens, causal, 8 heads on 2", flash(causal=True), own, tensors)
    for name, tokens, batch, causal in (("256 tokens", 256, 1, True), ("1 token", 1, 4, False)):
        tensors = inputs(dtype, tokens, 2048, 8, 8, batch=batch)
        pair = flash(causal=causal), attention_kernels.dense(backend, causal, tokens, 2048)
        title = f"{name} on 2048, batch of {batch}{', causal' * causal}, forward"
        yield title, *(forward(each, tensors) for each in pair)


def beyond(backend: str, dtype: torch.dtype) -> Iterator[tuple[str, Work, Work]]:
    """Yield the cases for which torch's attention needs masks or a loop."""
    tensors = inputs(dtype, 2048, 2048, 8, 8)
    own = attention_kernels.window(backend, 256, 2048)
    yield from both_passes(
        "2048 tokens, window of 256", flash(causal=True, window_size=(255, 0)), own, tensors
    )
    lengths = [100, 700, 30, 1000, 218]
    rows = [each[0].detach().requires_grad_() for each in tensors]
    own = attention_kernels.packed(backend, lengths)
    yield from both_passes("5 sequences of 2048 tokens, causal", packed(lengths), own, rows)


def both_passes(
    name: str, ours: Attention, own: Attention, tensors: list[Tensor]
) -> Iterator[tuple[str, Work, Work]]:
    """Yield the work of the forward pass, and of both passes."""
    for pass_ in (forward, forward_and_backward):
        title = f"{name}, {pass_.__name__.replace('_', ' ')}"
        yield title, *(pass_(each, tensors) for each in (ours, own))


def packed(lengths: list[int]) -> Attention:
    """Return flash_attn's attention of packed sequences in one tensor."""
    from flash_attn import flash_attn_varlen_func

    bounds = torch.tensor([0, *lengths], device="cuda", dtype=torch.int32).cumsum(0, dtype=torch.int32)
    longest = max(lengths)
    return lambda *tensors: flash_attn_varlen_func(*tensors, bounds, bounds, longest, longest, causal=True)


def measured(backend: str, dtype: torch.dtype, lengths: list[int], rounds: int) -> list[Comparison]:
    """Measure every pair in this process."""
    pairs = itertools.chain(dense(backend, dtype, lengths), beyond(backend, dtype))
    return [compare(name, ours, own, rounds=rounds, seconds=0.02) for name, ours, own in pairs]


def memory(kind: str) -> None:
    """Print the growth of peak memory with the tokens: forward and backward, causal, 1 head of 64."""

    def peak() -> float:
        if torch.empty(0, device="cuda").device.type != "cpu":
            return torch.cuda.max_memory_allocated() / 2**20
        return int(re.findall(r"VmHWM:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())[0]) / 1024

    attend = {"flash_attn": flash(causal=True), "with softcap": flash(causal=True, softcap=20.0)}[kind]
    forward_and_backward(attend, inputs(torch.bfloat16, 256, 256, 1, 1))()
    before = peak()
    for tokens in LENGTHS:
        forward_and_backward(attend, inputs(torch.bfloat16, tokens, tokens, 1, 1))()
        print(f"{peak() - before:.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "cpu"))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 128, 256, 512, 1024, 4096])
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    parser.add_argument("--threads", type=int, default=1, help="more wait for each other on a busy machine")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--memory", metavar="KIND", help="measure the memory only, in this process")
    arguments = parser.parse_args()
    import morph

    morph.activate(arguments.backend)
    torch.set_num_threads(arguments.threads)
    if arguments.memory:
        memory(arguments.memory)
        return
    results = measured(arguments.backend, DTYPES[arguments.dtype], arguments.tokens, arguments.rounds)
    command = [sys.executable, "-m", "benchmarks.attention", "--backend", arguments.backend, "--memory"]
    grown = {
        kind: subprocess.check_output([*command, kind], text=True).split()
        for kind in ("flash_attn", "with softcap")
    }
    if arguments.json:
        times = [{**dataclasses.asdict(each), "ratio": each.ratio} for each in results]
        print(json.dumps({"times": times, "tokens": LENGTHS, "memory": grown}))
        return
    for each in results:
        print(f"{each.name:66} {each.cuda / 1e6:8.2f} / {each.own / 1e6:8.2f} ms {each.ratio:6.2f}x")
    print(f"{'MiB at tokens':24}", *(f"{tokens:8}" for tokens in LENGTHS))
    for kind, figures in grown.items():
        print(f"{kind:24}", *(f"{figure:>8}" for figure in figures))
    print(f"{'one matrix of scores':24}", *(f"{4 * tokens**2 / 2**20:8.0f}" for tokens in LENGTHS))


if __name__ == "__main__":
    main()
