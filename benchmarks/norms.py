"""apex's norms as morph serves them, against torch's own on the same work."""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import os
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from morph.measurement.timing import Comparison, compare

Work = Callable[[], object]

WIDTH = 1024
ROWS = {"few rows": 64, "many rows": 256}
"""Where calls count, and where arithmetic does."""
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def forward(module: nn.Module, input: Tensor) -> Work:
    """Return the pass forward, as in inference."""

    def work() -> None:
        with torch.no_grad():
            module(input)

    return work


def forward_and_backward(module: nn.Module, input: Tensor) -> Work:
    """Return both passes."""
    gradient = torch.ones_like(input)
    leaves = (input, *module.parameters())
    return lambda: torch.autograd.grad(module(input), leaves, gradient)


def pairs() -> Iterator[tuple[str, Work, Work]]:
    """Yield the passes of apex's modules and of torch's, through the same input."""
    from apex import normalization as apex

    kinds = {"LayerNorm": (apex.FusedLayerNorm, nn.LayerNorm), "RMSNorm": (apex.FusedRMSNorm, nn.RMSNorm)}
    for name, classes in kinds.items():
        for (size, rows), dtype in ((size, dtype) for size in ROWS.items() for dtype in DTYPES):
            torch.manual_seed(0)
            input = torch.randn(rows, WIDTH, device="cuda", dtype=dtype, requires_grad=True)
            modules = [kind(WIDTH, eps=1e-5).to(device="cuda", dtype=dtype) for kind in classes]
            for direction in (forward, forward_and_backward):
                words = (f"Fused{name} / {name}", str(dtype).removeprefix("torch."), size)
                passes = (direction(module, input) for module in modules)
                yield ", ".join((*words, direction.__name__.replace("_", " "))), *passes


def keep_memory() -> None:
    """Have glibc keep what is freed: to get large temporaries anew costs more than a norm, by chance."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-3, 32 * 2**20)  # M_MMAP_THRESHOLD, its maximum
        mallopt(-1, 2**30)  # M_TRIM_THRESHOLD


def measured(rounds: int) -> list[Comparison]:
    """Measure everything in this process."""
    return [compare(name, ours, own, rounds=rounds, seconds=0.003) for name, ours, own in pairs()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "npu"))
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1, help="more wait for each other on a busy machine")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    keep_memory()
    import morph

    morph.activate(arguments.backend)
    torch.set_num_threads(arguments.threads)
    results = measured(arguments.rounds)
    if arguments.json:
        print(json.dumps([{**dataclasses.asdict(each), "ratio": each.ratio} for each in results]))
        return
    for each in results:
        print(f"{each.name:75} {each.cuda / 1e3:7,.0f} / {each.own / 1e3:7,.0f} us {each.ratio:6.2f}x")


if __name__ == "__main__":
    main()
