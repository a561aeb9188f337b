"""The names in ``torch._C`` of a torch built for Intel GPUs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from morph.software import devices, generators, histories
from morph.software import graphs as captured
from morph.software.machine import Machine, started
from morph.software.pools import Id, new_id
from morph.software.xpu import graphs, pools, properties, streams

COUNTED = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
ARCHITECTURES = "pvc bmg dg2-g10"


def names(machine: Machine) -> dict[str, Any]:
    """Return the names of ``torch._C``, with what each is.

    Args:
        machine: The simulated machine.
    """
    native = machine.native
    return {
        "_has_xpu": True,
        "_xpu_init": initialise,
        "_xpu_isInBadFork": devices._is_in_bad_fork,
        "_xpu_getArchFlags": lambda: ARCHITECTURES,
        "_XpuDeviceProperties": properties.DeviceProperties,
        **_devices(machine),
        "_XpuStreamBase": streams.StreamBase,
        "_XpuEventBase": streams.EventBase,
        "_xpu_getCurrentStream": streams.current,
        "_xpu_getCurrentRawStream": lambda index: streams.queue_of(streams.current(index)[0]),
        "_xpu_getStreamFromExternal": streams.from_queue,
        "_xpu_setStream": streams.set_current,
        "_XPUGraph": graphs.Graph,
        "_xpu_graph_pool_handle": new_id,
        "_xpu_isCurrentStreamCapturing": captured.is_current_stream_capturing,
        "_xpu_emptyCache": native.empty_cache,
        "_xpu_memoryStats": memory_stats,
        "_xpu_resetPeakMemoryStats": native.reset_peak_memory_stats,
        "_xpu_resetAccumulatedMemoryStats": native.reset_accumulated_memory_stats,
        "_xpu_getMemoryInfo": native.mem_get_info,
        "_xpu_getMemoryFraction": native.memory_fraction,
        "_xpu_setMemoryFraction": set_memory_fraction,
        "_xpu_memorySnapshot": memory_snapshot,
        "_xpu_recordMemoryHistory": record_memory_history,
        **_pools(machine),
    }


def _devices(machine: Machine) -> dict[str, Any]:
    return {
        "_xpu_getDeviceCount": lambda: machine.count,
        "_xpu_getDevice": machine.native.current_device,
        "_xpu_setDevice": machine.native.set_device,
        "_xpu_exchangeDevice": exchange_device,
        "_xpu_maybeExchangeDevice": maybe_exchange_device,
        "_xpu_canDeviceAccessPeer": devices.can_device_access_peer,
        "_xpu_synchronize": devices.synchronize,
    }


def _pools(machine: Machine) -> dict[str, Any]:
    return {
        "_xpu_XPUAllocator": pools.Allocator,
        "_xpu_customAllocator": pools.Allocator,
        "_xpu_changeCurrentAllocator": pools.change_allocator,
        "_xpu_getAllocator": pools.current_allocator,
        "_XPUMemPool": pools.MemPool,
        "_xpu_beginAllocateToPool": pools.begin,
        "_xpu_beginAllocateCurrentThreadToPool": pools.begin_in_thread,
        "_xpu_endAllocateToPool": machine.native.end_pool,
        "_xpu_releasePool": machine.native.let_go_of_pool,
    }


def initialise() -> None:
    """Implement ``torch._C._xpu_init``: use the device, and set in torch.xpu what torch's C++ sets."""
    started().native.initialize()
    module: Any = sys.modules["torch.xpu"]
    module.default_generators = generators.values(started())["default_generators"]
    module._get_device_properties = properties.of_device


def exchange_device(index: int) -> int:
    """Make a device current and return the one before it; a negative index changes nothing."""
    if index < 0:
        return -1
    previous = devices.current_device()
    started().native.set_device(index)
    return previous


def maybe_exchange_device(index: int) -> int:
    """Do the same; a separate function because Dynamo registers each of the two."""
    return exchange_device(index)


def memory_stats(index: int) -> dict[str, Any]:
    """Implement ``torch._C._xpu_memoryStats``: the four kinds of bytes that its allocator counts."""
    stats = started().native.memory_stats(index)
    return {kind: stats[kind] for kind in COUNTED}


def set_memory_fraction(fraction: float, index: int) -> None:
    """Implement ``torch._C._xpu_setMemoryFraction``: limit the allocator to a part of a device's memory."""
    if not 0 < fraction <= 1:
        raise ValueError(f"invalid fraction:{fraction:g}. Please set within (0, 1].")
    started().native.set_memory_fraction(index, fraction)


def memory_snapshot(pool: Id | None) -> dict[str, Any]:
    """Implement ``torch._C._xpu_memorySnapshot``: the segments, of one pool if given, and the history."""
    native = started().native
    segments = [each for each in native.memory_snapshot() if pool in (None, each["segment_pool_id"])]
    return {"segments": segments, "device_traces": native.memory_traces()}


def record_memory_history(
    enabled: str | None,
    context: str | None,
    stacks: str,
    max_entries: int,
    clear_history: bool,
    skip_actions: Sequence[str],
) -> None:
    """Implement ``torch._C._xpu_recordMemoryHistory``."""
    histories.record_history(
        enabled, context, stacks, max_entries, clear_history=clear_history, skip_actions=skip_actions
    )
