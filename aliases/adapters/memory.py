"""Memory functions and parameters of CUDA that a vendor lacks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

from morph.backends import vendor_module


def device_memory_used(device: Any = None) -> int:
    """Implement ``torch.cuda.device_memory_used(device)``.

    Args:
        device: The device; None is the current one.

    Returns:
        Bytes in use on the device, by all processes.
    """
    free, total = vendor_module().mem_get_info(device)
    return int(total - free)


def memory_snapshot(
    target: Callable[..., Any], mempool_id: tuple[int, int] | None = None, include_traces: bool = True
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
    return [each for each in segments if tuple(each["segment_pool_id"]) == tuple(mempool_id)]


def snapshot_of_pool(target: Callable[[Any], Any], pool: Any, include_traces: bool = True) -> Any:
    """Implement ``torch.cuda.MemPool.snapshot(include_traces)``; the vendor always includes the traces."""
    return target(pool)


def record_memory_history(
    target: Callable[..., None],
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: Any = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    """Implement ``torch.cuda.memory._record_memory_history``.

    Args:
        target: The vendor's function, which takes the arguments up to ``device``.
        enabled: None, ``"state"`` or ``"all"``.
        context: The events for which traces are recorded.
        stacks: The kinds of frames in a trace.
        max_entries: The number of events to keep.
        device: The device.
        clear_history: Whether earlier events are dropped, by switching the recording off and on.
        compile_context: Not recorded, with a warning.
        global_record_annotations: Not recorded, with a warning.
        skip_actions: Not skipped, with a warning.
    """
    extras = {
        "compile_context": compile_context,
        "global_record_annotations": global_record_annotations,
        "skip_actions": skip_actions,
    }
    for name in (name for name, value in extras.items() if value):
        warnings.warn(f"_record_memory_history({name}=...) changes nothing on this device", stacklevel=2)
    if clear_history:
        target(None)
    target(enabled, context, stacks, max_entries, device)


_fractions: dict[int, float] = {}


def set_per_process_memory_fraction(
    target: Callable[[float, Any], None], fraction: float, device: Any = None
) -> None:
    """Implement ``torch.cuda.set_per_process_memory_fraction``, and store it: the vendor cannot return it."""
    target(fraction, device)
    _fractions[_index(device)] = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the argument of ``set_per_process_memory_fraction`` for ``device``, by default 1.0."""
    return _fractions.get(_index(device), 1.0)


def _index(device: Any) -> int:
    cuda: Any = torch.cuda
    return int(cuda._get_device_index(device, optional=True))


def set_allocator_settings(target: Callable[[str], None], env: str) -> None:
    """Implement ``torch.cuda.memory._set_allocator_settings(env)``; the vendor refuses settings it lacks."""
    target(env)
