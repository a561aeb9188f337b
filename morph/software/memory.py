"""Memory figures of the simulated device: those of torch's caching allocators, in bytes."""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from typing_extensions import deprecated

from morph.software import devices
from morph.software.devices import AnyDevice
from morph.software.machine import Machine, started

ENABLED = None, "state", "all"
CONTEXTS = None, "state", "alloc", "all"


def values(machine: Machine) -> dict[str, Any]:
    """Return the vendor's older names on this subject, which are deprecated."""
    newer = {
        "memory_cached": memory_reserved,
        "max_memory_cached": max_memory_reserved,
        "reset_max_memory_allocated": reset_peak_memory_stats,
        "reset_max_memory_cached": reset_peak_memory_stats,
    }
    module = machine.facts.module
    return {
        name: _deprecated(f"{module}.{name} is now {module}.{new.__name__}", new)
        for name, new in newer.items()
    }


def _deprecated(message: str, new: Callable[..., Any]) -> Callable[..., Any]:
    def call(device: AnyDevice = None) -> Any:
        return new(device)

    return deprecated(message, category=FutureWarning)(call)


def _index(device: AnyDevice) -> int:
    index = devices._get_device_index(device, optional=True)
    if not 0 <= index < started().count:
        raise RuntimeError(f"Invalid device argument {index}: did you call init?")
    return index


def memory_stats_as_nested_dict(device: AnyDevice = None) -> dict[str, Any]:
    """Return the allocator's figures of a device, nested by kind, pool and figure."""
    return dict(started().native.memory_stats(_index(device)))


def memory_stats(device: AnyDevice = None) -> OrderedDict[str, int]:
    """Return the allocator's figures of a device, ``"allocated_bytes.all.peak"`` and so on."""
    return OrderedDict(sorted(_flat("", memory_stats_as_nested_dict(device))))


def _flat(prefix: str, figures: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield prefix + name, value


def _figure(device: AnyDevice, kind: str, which: str) -> int:
    return int(memory_stats_as_nested_dict(device)[kind]["all"][which])


def memory_allocated(device: AnyDevice = None) -> int:
    """Return the bytes that tensors occupy on a device."""
    return _figure(device, "allocated_bytes", "current")


def max_memory_allocated(device: AnyDevice = None) -> int:
    """Return the most bytes that tensors have occupied on a device."""
    return _figure(device, "allocated_bytes", "peak")


def memory_reserved(device: AnyDevice = None) -> int:
    """Return the bytes that the allocator holds of a device."""
    return _figure(device, "reserved_bytes", "current")


def max_memory_reserved(device: AnyDevice = None) -> int:
    """Return the most bytes that the allocator has held of a device."""
    return _figure(device, "reserved_bytes", "peak")


def mem_get_info(device: AnyDevice = None) -> tuple[int, int]:
    """Return the free and the total bytes of a device."""
    free, total = started().native.mem_get_info(_index(device))
    return int(free), int(total)


def empty_cache() -> None:
    """Release the memory that the allocator holds and no tensor occupies."""
    started().native.empty_cache()


def reset_peak_memory_stats(device: AnyDevice = None) -> None:
    """Reset the peaks of a device to the memory in use."""
    started().native.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device: AnyDevice = None) -> None:
    """Reset the totals of a device to zero."""
    started().native.reset_accumulated_memory_stats(_index(device))


def set_per_process_memory_fraction(fraction: float, device: AnyDevice = None) -> None:
    """Limit the allocator to a part of a device's memory, from 0 to 1."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    started().native.set_memory_fraction(_index(device), float(fraction))


def get_per_process_memory_fraction(device: AnyDevice = None) -> float:
    """Return the part of a device's memory that the allocator may hold."""
    return float(started().native.memory_fraction(_index(device)))


def caching_allocator_alloc(size: int, device: AnyDevice = None, stream: torch.Stream | None = None) -> int:
    """Allocate bytes of a device and return their address."""
    return int(started().native.allocate(size, _index(device)))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free what ``caching_allocator_alloc`` returned."""
    started().native.deallocate(mem_ptr)


def caching_allocator_enable(value: bool = True) -> None:
    """Keep freed memory for later tensors, or give it back at once."""
    started().native.set_caching(value)


def get_allocator_backend() -> str:
    """Return the allocator's name."""
    return "native"


def memory_snapshot(
    mempool_id: tuple[int, int] | None = None, include_traces: bool = True
) -> list[dict[str, Any]]:
    """Return the segments that the allocator holds, of one pool if one is given, each with its blocks.

    Args:
        mempool_id: The pool.
        include_traces: Makes no difference: traces are no part of the segments.
    """
    segments = started().native.memory_snapshot()
    return [each for each in segments if mempool_id in (None, each["segment_pool_id"])]


def _snapshot(device: AnyDevice = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    return {"segments": memory_snapshot(), "device_traces": started().native.memory_traces()}


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def _record_memory_history(enabled: str | None = "all", *args: Any, **kwargs: Any) -> None:
    """Record allocations and frees from now on, with the lines of code that did them if requested."""
    record_history(enabled, *args, **kwargs)


def record_history(
    enabled: str | None,
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: AnyDevice = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: Iterable[str] | None = None,
) -> None:
    """Record the memory's events from now on.

    Args:
        enabled: ``"all"``, ``"state"`` for what is allocated only, or None to end.
        context: Of which events the lines of code are kept: ``"all"``, ``"alloc"``, ``"state"`` or None.
        stacks: ``"python"``, or ``"all"`` for the frames of C++ too, whose names take seconds to find.
        max_entries: How many events of a device are kept, the last ones.
        device: Makes no difference: all devices are recorded.
        clear_history: Whether what was recorded before is forgotten.
        compile_context: Makes no difference.
        global_record_annotations: Makes no difference.
        skip_actions: Events that are not kept.

    Raises:
        RuntimeError: If a word is not one of those.
    """
    for name, word, known in (("enabled", enabled, ENABLED), ("context", context, CONTEXTS)):
        if word not in known:
            raise RuntimeError(f"expected {name} to be one of {', '.join(map(str, known))}; got {word!r}")
    native = started().native
    if clear_history or enabled is None:
        native.forget_memory_history()
    frames, entries = CONTEXTS.index(context), max_entries if enabled == "all" else 1
    native.record_memory_history(
        enabled is not None, enabled is not None, frames, stacks == "all", entries, set(skip_actions or ())
    )


def _set_allocator_settings(settings: str) -> None:
    """Accept settings; none of them has an effect here."""


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Return the figures of pinned host memory."""
    return dict(started().native.pinned_memory_stats())


def reset_peak_host_memory_stats() -> None:
    """Reset the peaks of pinned host memory to the memory in use."""
    started().native.reset_peak_pinned_memory_stats()


def reset_accumulated_host_memory_stats() -> None:
    """Reset the totals of pinned host memory to zero."""
    started().native.reset_accumulated_pinned_memory_stats()


def host_memory_stats() -> OrderedDict[str, int]:
    """Return the figures of pinned host memory, ``"allocated_bytes.peak"`` and so on."""
    return OrderedDict(sorted(_flat("", host_memory_stats_as_nested_dict())))


def host_empty_cache() -> None:
    """Release the pinned memory that is not in use."""
    started().native.empty_pinned_cache()


SUMMARY = (
    ("Allocated memory", "allocated_bytes"),
    ("Active memory", "active_bytes"),
    ("{title} reserved memory", "reserved_bytes"),
    ("Non-releasable memory", "inactive_split_bytes"),
    ("Allocations", "allocation"),
    ("Active allocs", "active"),
    ("{title} reserved segments", "segment"),
    ("Non-releasable allocs", "inactive_split"),
)
FIGURES = ("current", "peak", "allocated", "freed")
COLUMNS = ("Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")


def memory_summary(device: AnyDevice = None, abbreviated: bool = False) -> str:
    """Return a table of a device's figures for people to read."""
    title, stats = started().quirks.title, memory_stats_as_nested_dict(device)
    troubles = f"{title} OOMs: {stats['num_ooms']}", f"malloc retries: {stats['num_alloc_retries']}"
    heavy, light = f"|{'=' * 75}|", f"|{'-' * 75}|"
    lines = [heavy, f"|{f'PyTorch {title} memory summary, device ID {_index(device)}':^75}|", light]
    lines += ["|" + "|".join(f"{trouble:^37}" for trouble in troubles) + "|", heavy]
    lines += [f"| {'Metric':^21} | " + " | ".join(f"{column:^10}" for column in COLUMNS) + " |"]
    for label, kind in SUMMARY:
        lines += [light, *_summary_rows(label.format(title=title), kind, stats[kind], abbreviated)]
    return "\n".join([*lines, heavy, ""])


def _summary_rows(label: str, kind: str, figures: Mapping[str, Any], abbreviated: bool) -> Iterator[str]:
    pools = {label: "all"}
    if not abbreviated:
        pools |= {"      from large pool": "large_pool", "      from small pool": "small_pool"}
    for name, pool in pools.items():
        cells = [_readable(figures[pool][figure], kind) for figure in FIGURES]
        yield f"| {name:<21} | " + " | ".join(f"{cell:>10}" for cell in cells) + " |"


def _readable(figure: int, kind: str) -> str:
    if not kind.endswith("_bytes"):
        return f"{figure}   "
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if figure >= 10 * size:
            return f"{figure // size} {unit}"
    return f"{figure} B  "
