"""A table of the allocator's statistics, for vendors that print none."""

from __future__ import annotations

from typing import Any

import torch

from morph.backends import active

_METRICS = {"Allocated": "allocated", "Active": "active", "Requested": "requested", "Reserved": "reserved"}
_COLUMNS = {"Cur Usage": "current", "Peak Usage": "peak", "Tot Alloc": "allocated", "Tot Freed": "freed"}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Implement ``torch.cuda.memory_summary(device)``.

    Args:
        device: The device; None is the current one.
        abbreviated: Whether the pools of large and small blocks are left out.

    Returns:
        A table of the allocator's statistics in KiB.
    """
    cuda: Any = torch.cuda
    index = cuda._get_device_index(device, optional=True)
    stats, backend = torch.cuda.memory_stats(index), active()
    title = f"PyTorch {backend.name.upper() if backend else 'device'} memory summary, device ID {index}"
    rows = [_row("Metric", _COLUMNS)]
    for metric, key in _METRICS.items():
        for pool in ("all",) if abbreviated else ("all", "large_pool", "small_pool"):
            label = f"{metric} memory" if pool == "all" else f"  from {pool.replace('_', ' ')}"
            figures = [stats.get(f"{key}_bytes.{pool}.{kind}", 0) for kind in _COLUMNS.values()]
            rows.append(_row(label, [f"{figure >> 10} KiB" for figure in figures]))
    rule = "=" * len(rows[0])
    return "\n".join([rule, title.center(len(rule)), rule, *rows, rule]) + "\n"


def _row(label: str, cells: Any) -> str:
    return " | ".join([f"{label:<18}", *(f"{cell:>14}" for cell in cells)])
