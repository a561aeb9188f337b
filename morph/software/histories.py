"""What the devices' allocators hold, and the history of their memory."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable
from typing import Any

from morph.software.devices import AnyDevice
from morph.software.machine import started

ENABLED = None, "state", "all"
CONTEXTS = None, "state", "alloc", "all"
WORDS = {
    "state": (ENABLED, "'state', 'all', or None"),
    "context": (CONTEXTS, "'state', 'alloc', 'all', or None"),
    "stacks": (("python", "all"), "'python', or 'all'"),
}


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
    for (name, (known, words)), word in zip(WORDS.items(), (enabled, context, stacks), strict=True):
        if word not in known:
            raise RuntimeError(f"expected {name} to be {words}")
    native = started().native
    if clear_history or enabled is None:
        native.forget_memory_history()
    frames, entries = CONTEXTS.index(context), max_entries if enabled == "all" else 1
    native.record_memory_history(
        enabled is not None, enabled is not None, frames, stacks == "all", entries, set(skip_actions or ())
    )
