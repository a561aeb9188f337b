"""The history of the host's memory, in the form of CUDA's snapshots: pytorch.org/memory_viz draws them."""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import warnings
from types import ModuleType
from typing import Any

from morph.aliases.torch_cuda.cpu.device import index_of
from morph.aliases.torch_cuda.cpu.memory import memory_allocated, memory_reserved
from morph.aliases.torch_cuda.refusal import lacks
from morph.seam import native

_STREAM = 0
_KEPT = {None: 0, "state": 1, "all": sys.maxsize}
_ACTIONS = {True: ("alloc",), False: ("free_requested", "free_completed")}  # a freed block is free at once


def record_memory_history(
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
    """Record what tensors are allocated and freed from now on, without the lines of code that did it.

    Args:
        enabled: None ends it and forgets; "state" keeps what is held, "all" the events too.
        context: Not recorded.
        stacks: Not recorded.
        max_entries: How many events are kept.
        device: The device.
        clear_history: Every call begins anew.
        compile_context: Not recorded, with a warning.
        global_record_annotations: Not recorded, with a warning.
        skip_actions: Not skipped, with a warning.

    Raises:
        RuntimeError: If ``enabled`` is none of these.
    """
    index_of(device, optional=True)
    if enabled not in _KEPT:
        raise RuntimeError(f"expected state to be 'state', 'all', or None, but got {enabled!r}")
    _warn_of(
        compile_context=compile_context,
        global_record_annotations=global_record_annotations,
        skip_actions=skip_actions,
    )
    _recorder().record_history(min(_KEPT[enabled], max_entries))


def record_memory_history_legacy(
    enabled: bool,
    record_context: bool = True,
    trace_alloc_max_entries: int = 1,
    trace_alloc_record_context: bool = False,
    device: Any = None,
    record_context_cpp: bool = False,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    """Answer to the form of torch 2.0, whose first argument is a bool."""
    record_memory_history(
        "all" if enabled else None,
        max_entries=trace_alloc_max_entries,
        device=device,
        compile_context=compile_context,
        global_record_annotations=global_record_annotations,
        skip_actions=skip_actions,
    )


def record_memory_history_in_either_form(
    enabled: bool | str | None = "all", *args: Any, **kwargs: Any
) -> None:
    """Answer ``torch.cuda.memory._record_memory_history``, which takes both forms."""
    record = record_memory_history_legacy if isinstance(enabled, bool) else record_memory_history
    record(enabled, *args, **kwargs)  # type: ignore[arg-type]


record_memory_history_in_either_form.__signature__ = (  # type: ignore[attr-defined]
    inspect.signature(record_memory_history)
)


def snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Return what is held and what happened, in CUDA's form: segments, and one list of events.

    Args:
        device: The device.
        augment_with_fx_traces: There are no lines of code to add to.
    """
    events, _ = _recorder().history()
    return {
        "segments": memory_snapshot(),
        "device_traces": [[_trace(action, *event[1:]) for event in events for action in _ACTIONS[event[0]]]],
        "allocator_settings": {},
        "external_annotations": [],
    }


def dump_snapshot(
    filename: str | os.PathLike[str] = "dump_snapshot.pickle", augment_with_fx_traces: bool = False
) -> None:
    """Pickle ``snapshot()`` to a file."""
    with open(filename, "wb") as file:
        pickle.dump(snapshot(augment_with_fx_traces=augment_with_fx_traces), file)


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """Return a segment for each block that was allocated while it is recorded, and one for all other memory.

    Args:
        mempool_id: All memory is of one pool.
        include_traces: No segment has any.
    """
    _, blocks = _recorder().history()
    recorded = sum(blocks.values())
    others = _segment(0, memory_reserved() - recorded, memory_allocated() - recorded, [])
    own = [_segment(address, size, size, [_block(address, size)]) for address, size in blocks.items()]
    return [others, *own]


def _warn_of(**extras: Any) -> None:
    for name in (name for name, value in extras.items() if value):
        warnings.warn(f"_record_memory_history({name}=...) changes nothing on this device", stacklevel=3)


def _recorder() -> ModuleType:
    if native.loaded is None:
        raise lacks("torch.cuda.memory._snapshot", "it takes the native seam, and so a compiler")
    return native.loaded


def _trace(action: str, address: int, size: int, time_us: int) -> dict[str, Any]:
    event = {"action": action, "addr": address, "size": size, "stream": _STREAM, "time_us": time_us}
    return {**event, "frames": []}


def _segment(address: int, total: int, held: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "device": 0,
        "address": address,
        "total_size": total,
        "allocated_size": held,
        "active_size": held,
        "requested_size": held,
        "stream": _STREAM,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": blocks,
    }


def _block(address: int, size: int) -> dict[str, Any]:
    sizes = {"size": size, "requested_size": size}
    return {"address": address, **sizes, "state": "active_allocated", "frames": []}
