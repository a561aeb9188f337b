"""Small memory that is taken again at once was not freed meanwhile, and nothing shows it."""

from __future__ import annotations

import gc
import random
from typing import Any

import pytest
import torch
from torch import Tensor

PEAKS_AND_TOTALS = (
    "allocation active allocated_bytes active_bytes requested_bytes inactive_split inactive_split_bytes"
)


def figures() -> dict[str, int]:
    return {
        name: value
        for name, value in torch.cuda.memory_stats().items()
        if name.split(".")[0] in PEAKS_AND_TOTALS.split() or name.startswith(("segment", "reserved"))
    }


def places(start: int) -> list[tuple[int, int, str]]:
    return [
        (block["address"] - start, block["size"], block["state"])
        for segment in torch.cuda.memory_snapshot()
        for block in segment["blocks"]
    ]


def run(seed: int, *, is_recorded: bool) -> list[Any]:
    """Return what is seen of random takes and frees. With a recorded history, each free happens at once."""
    chance, kept, seen = random.Random(seed), list[Tensor](), list[Any]()
    gc.collect()
    torch.cuda.empty_cache()
    if is_recorded:
        torch.cuda.memory._record_memory_history("state", context=None)
    first = torch.empty(128, device="cuda", dtype=torch.uint8)
    start = first.data_ptr()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
    for _ in range(400):
        size = chance.choice([1, 400, 512, 513, 1024, 1500, 5000, 70_000, 1 << 20, (1 << 20) + 1])
        match chance.randrange(8):
            case 0 | 1 | 2:
                kept.append(torch.empty(size, device="cuda", dtype=torch.uint8))
            case 3 if kept:
                del kept[chance.randrange(len(kept))]
            case 4:
                seen.append((figures(), places(start)))
            case _:
                seen.append(torch.empty(size, device="cuda", dtype=torch.uint8).data_ptr() - start)
    seen.append((figures(), places(start)))
    if is_recorded:
        torch.cuda.memory._record_memory_history(None)
    return seen


@pytest.mark.parametrize("seed", range(8))
def test_taking_again_is_a_free_and_a_take(seed: int) -> None:
    for recycled, freed in zip(run(seed, is_recorded=False), run(seed, is_recorded=True), strict=True):
        assert recycled == freed
