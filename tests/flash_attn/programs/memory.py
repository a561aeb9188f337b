"""Prints how much causal attention, forward and backward, adds to peak device memory, in MiB."""

from __future__ import annotations

import sys
from typing import Any

import torch
from flash_attn import flash_attn_func


def peak() -> float:
    return torch.cuda.max_memory_allocated() / (1 << 20)


def attend(tokens: int, **options: Any) -> None:
    q, k, v = (
        torch.randn(1, tokens, 1, 32, dtype=torch.bfloat16, device="cuda", requires_grad=True)
        for _ in range(3)
    )
    flash_attn_func(q, k, v, causal=True, **options).backward(torch.ones_like(q))


torch.set_num_threads(1)
for name, options, longest in ("fused", {}, 16384), ("in blocks", {"softcap": 20.0}, 8192):
    if sys.argv[1:] not in ([], [name]):
        continue
    torch.cuda.reset_peak_memory_stats()
    attend(1024, **options)
    before = peak()
    for tokens in (longest // 2, longest):
        attend(tokens, **options)
        print(f"{name}, {tokens} tokens: {peak() - before:.1f}")
