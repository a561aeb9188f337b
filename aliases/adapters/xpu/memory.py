"""Memory statistics, pools and allocators: parameters and members that Intel's lack."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from morph.aliases.adapters import memory
from morph.backends import vendor_module
from morph.backends.refusal import lacks

_HISTORY = ("context", "stacks", "max_entries", "clear_history", "skip_actions")
_UNCOUNTED = "its allocator counts allocated, reserved, active and requested bytes"
_METRICS = {"Allocated": "allocated", "Active": "active", "Requested": "requested", "Reserved": "reserved"}
_COLUMNS = {"Cur Usage": "current", "Peak Usage": "peak", "Tot Alloc": "allocated", "Tot Freed": "freed"}


class Statistics(collections.OrderedDict[str, Any]):
    """The allocator's statistics; access to one that it does not count raises an error that names it."""

    def __missing__(self, key: str) -> Any:
        raise KeyError(str(lacks(f"torch.cuda.memory_stats()[{key!r}]", _UNCOUNTED)))

    def __reduce__(self) -> Any:
        return collections.OrderedDict, (list(self.items()),)


def memory_stats(target: Callable[[Any], dict[str, Any]], device: Any = None) -> Statistics:
    """Implement ``torch.cuda.memory_stats(device)``."""
    return Statistics(target(device))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Implement ``torch.cuda.memory_summary(device)``.

    Args:
        device: The device; None is the current one.
        abbreviated: Whether the pools of large and small blocks are left out.

    Returns:
        A table of the allocator's statistics in KiB.
    """
    vendor = vendor_module()
    index = vendor._get_device_index(device, optional=True)
    stats = vendor.memory_stats(index)
    title = f"PyTorch XPU memory summary, device ID {index}"
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


def record_memory_history(
    target: Callable[..., None], enabled: str | None = "all", *args: Any, **kwargs: Any
) -> None:
    """Implement ``torch.cuda.memory._record_memory_history``; what Intel's lacks only gives a warning.

    Args:
        target: Intel's function, which records events of all devices.
        enabled: None, ``"state"`` or ``"all"``.
        *args: The others of CUDA's arguments, by their places.
        **kwargs: They by name.
    """
    given = memory.history_arguments(args, kwargs)
    given.pop("device", None)
    memory.record(target, enabled, given, _HISTORY)


def initialise_allocator(
    target: Callable[..., None], allocator: Any, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str
) -> None:
    """Initialise a ``torch.cuda.CUDAPluggableAllocator``; Intel names the file parameter differently."""
    target(allocator, path_to_so_file, alloc_fn_name, free_fn_name)


def get_allocator_backend() -> str:
    """Return "native": torch's own allocator."""
    return "native"
