"""Allocator snapshots, for vendors whose functions take fewer arguments than CUDA's."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import torch

_torch: Any = torch


def memory_snapshot(
    target: Callable[[], Any], mempool_id: tuple[int, int] | None = None, include_traces: bool = True
) -> Any:
    """Implement ``torch.cuda.memory_snapshot(mempool_id, include_traces)``.

    Args:
        target: The vendor's function, which always includes the traces, and takes no pool before 2.13.
        mempool_id: Only this pool's segments.
        include_traces: Without effect; on CUDA, False only saves the time of collecting them.

    Returns:
        A list of segments.
    """
    segments = target()
    if mempool_id is None:
        return segments
    return [segment for segment in segments if tuple(segment["segment_pool_id"]) == tuple(mempool_id)]


def snapshot(target: Callable[[Any], Any], device: Any = None, augment_with_fx_traces: bool = False) -> Any:
    """Implement ``torch.cuda.memory._snapshot``.

    Args:
        target: The vendor's function, which takes the device only.
        device: The device.
        augment_with_fx_traces: Whether frames of generated code name their source lines.

    Returns:
        A dictionary of segments and traces.
    """
    taken = target(device)
    return _torch._utils._augment_memory_snapshot_stack_traces(taken) if augment_with_fx_traces else taken


def dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write ``torch.cuda.memory._snapshot()`` to a file.

    Args:
        filename: Path of the file.
        augment_with_fx_traces: Whether frames of generated code name their source lines.
    """
    taken = _torch.cuda.memory._snapshot(augment_with_fx_traces=augment_with_fx_traces)
    with open(filename, "wb") as file:
        pickle.dump(taken, file)
