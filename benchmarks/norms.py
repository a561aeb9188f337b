"""morph's implementation of apex's norms against torch's own norms on the same work."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks.pairs import Pair, Work, run

WIDTH = 1024
ROWS = {"few rows": 64, "many rows": 256}
"""Calls dominate with few rows, arithmetic with many."""
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def forward(module: nn.Module, input: Tensor) -> Work:
    """Return the forward pass, as in inference."""

    def work() -> None:
        with torch.no_grad():
            module(input)

    return work


def forward_and_backward(module: nn.Module, input: Tensor) -> Work:
    """Return the forward and backward passes."""
    gradient = torch.ones_like(input)
    leaves = (input, *module.parameters())
    return lambda: torch.autograd.grad(module(input), leaves, gradient)


def pairs() -> Iterator[Pair]:
    """Yield the passes of apex's and torch's modules on the same input."""
    from apex import normalization as apex

    kinds = {"LayerNorm": (apex.FusedLayerNorm, nn.LayerNorm), "RMSNorm": (apex.FusedRMSNorm, nn.RMSNorm)}
    for name, classes in kinds.items():
        for (size, rows), dtype in ((size, dtype) for size in ROWS.items() for dtype in DTYPES):
            torch.manual_seed(0)
            input = torch.randn(rows, WIDTH, device="cuda", dtype=dtype, requires_grad=True)
            modules = [kind(WIDTH, eps=1e-5).to(device="cuda", dtype=dtype) for kind in classes]
            for direction in (forward, forward_and_backward):
                words = (f"Fused{name} / {name}", str(dtype).removeprefix("torch."), size)
                ours, own = (direction(module, input) for module in modules)
                yield ", ".join((*words, direction.__name__.replace("_", " "))), ours, own


def keep_memory() -> None:
    """Have glibc keep freed memory: allocating large temporaries anew can cost more than a norm."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-3, 32 * 2**20)  # M_MMAP_THRESHOLD at its maximum
        mallopt(-1, 2**30)  # M_TRIM_THRESHOLD


if __name__ == "__main__":
    keep_memory()
    run(__doc__, pairs, rounds=300, seconds=0.003)
