"""Memory figures in bytes, under the names of CUDA's caching allocator.

"Allocated" is what tensors hold; "reserved" is that, and what the C library's heap keeps for later ones.
"""

from __future__ import annotations

import collections
import contextlib
from typing import Any

from morph.aliases.torch_cuda.cpu import heap, host
from morph.aliases.torch_cuda.cpu.device import index_of
from morph.aliases.torch_cuda.cpu.tensors import counts

_CURRENT, _PEAK = "allocated_bytes.all.current", "allocated_bytes.all.peak"

_highest_reserved = 0
_fraction = 1.0


def memory_allocated(device: Any = None) -> int:
    """Return what tensors hold, in bytes."""
    index_of(device, optional=True)
    return counts().memory()[_CURRENT]


def max_memory_allocated(device: Any = None) -> int:
    """Return the most that tensors held since the last reset, in bytes."""
    index_of(device, optional=True)
    return counts().memory()[_PEAK]


def memory_reserved(device: Any = None) -> int:
    """Return what tensors hold and the heap keeps, in bytes."""
    global _highest_reserved
    reserved = memory_allocated(device) + heap.kept()
    _highest_reserved = max(_highest_reserved, reserved)
    return reserved


def max_memory_reserved(device: Any = None) -> int:
    """Return the most that was reserved when somebody asked, or that tensors held, in bytes."""
    return max(memory_reserved(device), _highest_reserved, max_memory_allocated(device))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin the peaks anew from what is held now."""
    global _highest_reserved
    index_of(device, optional=True)
    counts().reset_peak_memory()
    _highest_reserved = 0


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Begin the totals of what was ever allocated and freed anew."""
    index_of(device, optional=True)
    counts().reset_accumulated_memory()


def empty_cache() -> None:
    """Give what the heap keeps back to the system."""
    heap.release()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the statistics that the CPU has; those that it lacks have no key."""
    figures = {**counts().memory(), "num_alloc_retries": 0}  # nothing is flushed and tried again
    for key in [key for key in figures if ".all." in key]:
        figures[key.replace("allocated_bytes", "active_bytes").replace("allocation", "active")] = figures[key]
    figures["reserved_bytes.all.current"] = memory_reserved(device)
    figures["reserved_bytes.all.peak"] = max_memory_reserved(device)
    figures["inactive_split_bytes.all.current"] = heap.kept()
    return collections.OrderedDict(sorted(figures.items()))


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return ``memory_stats`` with a dictionary for each part of a key."""
    nested: dict[str, Any] = {}
    for key, value in memory_stats(device).items():
        *parts, last = key.split(".")
        inner = nested
        for part in parts:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return a table of the figures for people to read."""
    stats = memory_stats(device)
    rows = [
        ("Metric", "Cur Usage", "Peak Usage"),
        ("Allocated memory", *(f"{stats[key] >> 10} KiB" for key in (_CURRENT, _PEAK))),
        (
            "Reserved memory",
            *(f"{stats[f'reserved_bytes.all.{when}'] >> 10} KiB" for when in ("current", "peak")),
        ),
    ]
    title = "|  PyTorch CPU memory summary, device ID 0              |"
    lines = [f"| {metric:<19} | {current:>14} | {highest:>14} |" for metric, current, highest in rows]
    rule = f"|{'=' * (len(title) - 2)}|"
    return "\n".join([rule, title, rule, *lines, rule]) + "\n"


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the host's free memory and all of it, in bytes, as far as this process may use it."""
    index_of(device, optional=True)
    return host.free_memory(), host.total_memory()


def device_memory_used(device: Any = None) -> int:
    """Return the host's memory in use by all processes, in bytes."""
    free, total = mem_get_info(device)
    return total - free


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Refuse tensors, with an OutOfMemoryError, that together would hold more than a fraction of the memory.

    Raises:
        TypeError: If ``fraction`` is no float.
        ValueError: If it is not between 0 and 1.
    """
    global _fraction
    index_of(device, optional=True)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    counts().limit_memory(int(fraction * host.total_memory()))
    _fraction = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return what ``set_per_process_memory_fraction`` was given, 1.0 before."""
    index_of(device, optional=True)
    return _fraction


def caching_allocator_disabled() -> contextlib.AbstractContextManager[None]:
    """Return a context manager that does nothing: what the heap keeps changes no result."""
    return contextlib.nullcontext()


def get_allocator_backend() -> str:
    """Return "native": torch's own."""
    return "native"
