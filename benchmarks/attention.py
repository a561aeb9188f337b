"""flash_attn as morph serves it: its time against scaled_dot_product_attention's, and its memory."""

from __future__ import annotations

import argparse
import dataclasses
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
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from morph.measurement.timing import Comparison, compare

Work = Callable[[], object]
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]

LENGTHS = tuple(1024 * 2**n for n in range(6))
DTYPE = torch.bfloat16


def inputs(tokens: int, keys: int, heads: int, key_heads: int, batch: int = 1) -> list[Tensor]:
    """Return queries, keys and values on the device, in flash_attn's layout."""
    torch.manual_seed(0)
    shapes = ((batch, tokens, heads, 64), *((batch, keys, key_heads, 64),) * 2)
    return [torch.randn(shape, device="cuda", dtype=DTYPE, requires_grad=True) for shape in shapes]


def direct(**options: Any) -> Attention:
    """Return torch's attention on tensors in flash_attn's layout."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        own = {**options, "enable_gqa": q.shape[2] != k.shape[2]}
        return scaled_dot_product_attention(*(each.transpose(1, 2) for each in (q, k, v)), **own).transpose(
            1, 2
        )

    return attend


def forward(attend: Attention, tensors: list[Tensor]) -> Work:
    """Return the forward pass, as in inference."""

    def work() -> None:
        with torch.no_grad():
            attend(*tensors)

    return work


def forward_and_backward(attend: Attention, tensors: list[Tensor]) -> Work:
    """Return both passes."""
    gradient = torch.randn_like(tensors[0])
    return lambda: torch.autograd.grad(attend(*tensors), tensors, gradient)


def flash(**options: Any) -> Attention:
    """Return flash_attn's attention."""
    from flash_attn import flash_attn_func

    return lambda *tensors: flash_attn_func(*tensors, **options)


def dense() -> Iterator[tuple[str, Work, Work]]:
    """Yield what torch's attention can express."""
    for tokens in (128, 512, 2048):
        tensors = inputs(tokens, tokens, 8, 8)
        for causal in (False, True):
            pair = flash(causal=causal), direct(is_causal=causal)
            for pass_ in (forward, forward_and_backward):
                name = f"{tokens} tokens, {'causal, ' if causal else ''}{pass_.__name__.replace('_', ' ')}"
                yield name, *(pass_(each, tensors) for each in pair)
    tensors = inputs(1024, 1024, 8, 2)
    for pass_ in (forward, forward_and_backward):
        pair = flash(causal=True), direct(is_causal=True)
        yield (
            f"1024 tokens, causal, 8 heads on 2, {pass_.__name__.replace('_', ' ')}",
            *(pass_(each, tensors) for each in pair),
        )
    tensors = inputs(256, 2048, 8, 8)
    pair = flash(causal=True), direct(attn_mask=causal_lower_right(256, 2048))
    yield "256 tokens on 2048, causal, forward", *(forward(each, tensors) for each in pair)
    tensors = inputs(1, 2048, 8, 8, batch=4)
    yield "1 token on 2048, batch of 4, forward", *(forward(each, tensors) for each in (flash(), direct()))


def beyond() -> Iterator[tuple[str, Work, Work]]:
    """Yield what torch's attention needs masks or a loop for."""
    tensors = inputs(2048, 2048, 8, 8)
    row, column = torch.arange(2048, device="cuda")[:, None], torch.arange(2048, device="cuda")
    mask = (column <= row) & (column > row - 256)
    pair = flash(causal=True, window_size=(255, 0)), direct(attn_mask=mask)
    for pass_ in (forward, forward_and_backward):
        name = f"2048 tokens, window of 256, {pass_.__name__.replace('_', ' ')} / a mask"
        yield name, *(pass_(each, tensors) for each in pair)
    lengths = [100, 700, 30, 1000, 218]
    pair = packed(lengths), one_by_one(lengths)
    for pass_ in (forward, forward_and_backward):
        name = f"5 sequences of 2048 tokens, causal, {pass_.__name__.replace('_', ' ')} / a loop"
        yield name, *(pass_(each, [each[0].detach().requires_grad_() for each in tensors]) for each in pair)


def packed(lengths: list[int]) -> Attention:
    """Return flash_attn's attention of sequences in one tensor, each to itself."""
    from flash_attn import flash_attn_varlen_func

    bounds = torch.tensor([0, *lengths], device="cuda", dtype=torch.int32).cumsum(0, dtype=torch.int32)
    longest = max(lengths)
    return lambda *tensors: flash_attn_varlen_func(*tensors, bounds, bounds, longest, longest, causal=True)


def one_by_one(lengths: list[int]) -> Attention:
    """Return torch's, in a loop."""
    attend = direct(is_causal=True)

    def each_alone(*tensors: Tensor) -> Tensor:
        parts = zip(*(each.split(lengths) for each in tensors), strict=True)
        return torch.cat([attend(*(each[None] for each in part))[0] for part in parts])

    return each_alone


def measured(rounds: int) -> list[Comparison]:
    """Measure every pair in this process."""
    return [
        compare(name, ours, own, rounds=rounds, seconds=0.05) for name, ours, own in (*dense(), *beyond())
    ]


def memory(kind: str) -> None:
    """Print the growth of this process's peak with the tokens, forward and backward, causal, 1 head of 64."""

    def peak() -> float:
        return int(re.findall(r"VmHWM:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())[0]) / 1024

    attend = {"flash_attn": flash(causal=True), "with softcap": flash(causal=True, softcap=20.0)}[kind]
    forward_and_backward(attend, inputs(256, 256, 1, 1))()
    before = peak()
    for tokens in LENGTHS:
        forward_and_backward(attend, inputs(tokens, tokens, 1, 1))()
        print(f"{peak() - before:.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "cpu"))
    parser.add_argument("--rounds", type=int, default=20)
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
    results = measured(arguments.rounds)
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
