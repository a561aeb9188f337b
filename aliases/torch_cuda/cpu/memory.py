"""Memory figures of the process in bytes, under the names of CUDA's caching allocator.

"Allocated" is what the C library's heap has handed out, tensors and everything else; "reserved" is what the
heap has taken from the system. The kernel knows the peak: what was resident at
once, above what was at the reset.
"""

from __future__ import annotations

import collections
import contextlib
import os
import resource
from dataclasses import dataclass
from typing import Any

import psutil
from typing_extensions import deprecated

from morph.aliases.torch_cuda.cpu import heap, host
from morph.aliases.torch_cuda.cpu.device import index_of
from morph.aliases.torch_cuda.refusal import lacks


@dataclass
class _Peak:
    """The highest figures since a point in time.

    Attributes:
        start: What was in use then.
        resident: What was resident then.
        seen: The highest figures that anybody asked for since.
    """

    start: heap.Usage
    resident: int
    seen: heap.Usage

    @classmethod
    def from_now(cls) -> _Peak:
        now = heap.usage()
        return cls(now, heap.highest_resident(), now)

    def see(self, now: heap.Usage) -> heap.Usage:
        """Keep ``now`` if it is the highest; return it."""
        self.seen = heap.Usage(max(now.allocated, self.seen.allocated), max(now.reserved, self.seen.reserved))
        return now

    def highest(self) -> heap.Usage:
        """Return the highest figures: those seen, and what the kernel saw grow in between."""
        grown = max(0, heap.highest_resident() - self.resident)
        self.see(heap.Usage(self.start.allocated + grown, self.start.reserved + grown))
        return self.seen


_RENAMED = "`torch.cuda.{}` has been renamed to `torch.cuda.{}`"
_RESETS_ALL = (
    "torch.cuda.{} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak memory stats."
)

_peak = _Peak.from_now()
_fraction = 1.0


def memory_allocated(device: Any = None) -> int:
    """Return the memory in use, in bytes."""
    return _usage(device).allocated


def memory_reserved(device: Any = None) -> int:
    """Return the memory held from the system, in bytes."""
    return _usage(device).reserved


def max_memory_allocated(device: Any = None) -> int:
    """Return the most memory that was in use since the last reset, in bytes."""
    return _highest(device).allocated


def max_memory_reserved(device: Any = None) -> int:
    """Return the most memory that was held since the last reset, in bytes."""
    return _highest(device).reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin the peaks anew from what is in use now."""
    global _peak
    index_of(device, optional=True)
    heap.release()
    heap.forget_highest_resident()
    _peak = _Peak.from_now()


def empty_cache() -> None:
    """Give memory that is not in use back to the system."""
    heap.release()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return the statistics that the CPU has; those that it lacks are not there."""
    now, peak = _usage(device), _highest(device)
    allocated = {"all": {"current": now.allocated, "peak": peak.allocated}}
    return {
        "allocated_bytes": allocated,
        "active_bytes": allocated,
        "requested_bytes": allocated,
        "reserved_bytes": {"all": {"current": now.reserved, "peak": peak.reserved}},
        "inactive_split_bytes": {"all": {"current": now.reserved - now.allocated}},
        "num_alloc_retries": 0,  # the heap never flushes and tries again
        "num_ooms": 0,  # torch raises RuntimeError, not OutOfMemoryError, when the host's memory runs out
    }


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the statistics of ``memory_stats_as_nested_dict`` with dotted keys, sorted."""
    return collections.OrderedDict(sorted(_flat("", memory_stats_as_nested_dict(device))))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return a table of the figures for people to read."""
    now, peak = _usage(device), _highest(device)
    rows = [
        ("Metric", "Cur Usage", "Peak Usage"),
        ("Allocated memory", f"{now.allocated >> 10} KiB", f"{peak.allocated >> 10} KiB"),
        ("Reserved memory", f"{now.reserved >> 10} KiB", f"{peak.reserved >> 10} KiB"),
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


def list_gpu_processes(device: Any = None) -> str:
    """Return a line on this process; what others do on the CPU is not listed."""
    used = psutil.Process().memory_info().rss / (1 << 20)
    index = index_of(device, optional=True)
    return f"GPU:{index}\nprocess {os.getpid():>10d} uses {used:>12.3f} MB GPU memory"


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limit the process's data (``RLIMIT_DATA``) to what it has besides its heap plus a fraction of memory.

    Raises:
        TypeError: If ``fraction`` is no float.
        ValueError: If it is not between 0 and 1.
    """
    global _fraction
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _, hardest = resource.getrlimit(resource.RLIMIT_DATA)
    besides = max(0, psutil.Process().memory_info().data - memory_reserved(device))
    limit = hardest if fraction == 1 else besides + int(fraction * host.total_memory())
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hardest))
    _fraction = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return what ``set_per_process_memory_fraction`` was given, 1.0 before."""
    index_of(device, optional=True)
    return _fraction


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Return the address of ``size`` bytes from the heap."""
    index_of(device, optional=True)
    address: int = _heap("caching_allocator_alloc").malloc(size)
    return address


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give back what ``caching_allocator_alloc`` returned."""
    _heap("caching_allocator_delete").free(mem_ptr)


def caching_allocator_disabled() -> contextlib.AbstractContextManager[None]:
    """Return a context manager that does nothing: what the heap keeps changes no result."""
    return contextlib.nullcontext()


def get_allocator_backend() -> str:
    """Return "native": torch's own."""
    return "native"


@deprecated(_RENAMED.format("memory_cached", "memory_reserved"), category=FutureWarning)
def memory_cached(device: Any = None) -> int:
    """Deprecated; see ``memory_reserved``."""
    return memory_reserved(device)


@deprecated(_RENAMED.format("max_memory_cached", "max_memory_reserved"), category=FutureWarning)
def max_memory_cached(device: Any = None) -> int:
    """Deprecated; see ``max_memory_reserved``."""
    return max_memory_reserved(device)


@deprecated(_RESETS_ALL.format("reset_max_memory_allocated"), category=FutureWarning)
def reset_max_memory_allocated(device: Any = None) -> None:
    """Deprecated; see ``reset_peak_memory_stats``."""
    reset_peak_memory_stats(device)


@deprecated(_RESETS_ALL.format("reset_max_memory_cached"), category=FutureWarning)
def reset_max_memory_cached(device: Any = None) -> None:
    """Deprecated; see ``reset_peak_memory_stats``."""
    reset_peak_memory_stats(device)


def _usage(device: Any) -> heap.Usage:
    index_of(device, optional=True)
    return _peak.see(heap.usage())


def _highest(device: Any) -> heap.Usage:
    _usage(device)
    return _peak.highest()


def _flat(prefix: str, stats: dict[str, Any]) -> list[tuple[str, int]]:
    flat: list[tuple[str, int]] = []
    for key, value in stats.items():
        flat += _flat(f"{prefix}{key}.", value) if isinstance(value, dict) else [(prefix + key, value)]
    return flat


def _heap(name: str) -> Any:
    library = heap.glibc()
    if library is None:
        raise lacks(f"torch.cuda.{name}", "it needs glibc's own malloc")
    return library
