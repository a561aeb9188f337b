"""What a torch that is built for CUDA, or for ROCm, has in ``torch._C``."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from morph.aliases.torch_cuda import collectives
from morph.software import devices, generators, graphs, memory, pools, runtime
from morph.software.cuda import properties, streams
from morph.software.machine import Machine, NotSimulatedError, started

COLLECTIVES = "all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"
COLLECTIVES_VERSION = 2 << 32 | 22 << 16 | 3
ABSENT = (
    "_cuda_changeCurrentAllocator",
    "_cuda_customAllocator",
    "_cuda_getAllocator",
    "_cuda_getCurrentSolverHandle",
    "_cuda_getMemoryMetadata",
    "_cuda_setMemoryMetadata",
    "_cuda_jiterator_compile_and_launch_kernel",
    "_cuda_record_memory_history_legacy",
)
_sync_debug_mode = 0


def refusing() -> dict[str, Any]:
    """Gives the names of ``torch._C`` that are not simulated; each refuses when it is called."""

    def make(name: str) -> Callable[..., Any]:
        def refuse(*arguments: Any, **options: Any) -> Any:
            raise NotSimulatedError(f"torch._C.{name}")

        return refuse

    return {name: make(name) for name in ABSENT}


def names(machine: Machine) -> dict[str, Any]:
    """Gives the names of ``torch._C``, with what each is.

    Args:
        machine: The simulated machine.
    """
    return {
        "_has_cuda": True,
        "_cuda_init": initialise,
        "_cuda_isInBadFork": devices._is_in_bad_fork,
        "_cuda_getArchFlags": lambda: machine.character.architectures,
        "_CudaDeviceProperties": properties.DeviceProperties,
        "_cudart": _hip(),
        "_nvtx": _roctx(),
        "_nccl_version": lambda: COLLECTIVES_VERSION,
        "_nccl_version_suffix": lambda: b"",
        **{f"_nccl_{name}": getattr(collectives, name) for name in COLLECTIVES},
        **_devices(machine),
        **_streams(),
        **_memory(machine),
        **_pools(machine),
    }


def initialise() -> None:
    """Answers ``torch._C._cuda_init``: uses the device, and gives torch.cuda what torch's C++ gives it."""
    started().native.initialize()
    module: Any = sys.modules["torch.cuda"]
    module = getattr(module, "__wrapped__", module)  # a rehearsal records what is asked of it
    module.default_generators = generators.values(started())["default_generators"]
    module._get_device_properties = properties.of_device


def _devices(machine: Machine) -> dict[str, Any]:
    return {
        "_cuda_getDeviceCount": lambda: machine.count,
        "_cuda_getDevice": machine.native.current_device,
        "_cuda_setDevice": machine.native.set_device,
        "_cuda_exchangeDevice": devices._exchange_device,
        "_cuda_maybeExchangeDevice": devices._maybe_exchange_device,
        "_cuda_canDeviceAccessPeer": devices.can_device_access_peer,
        "_cuda_synchronize": devices.synchronize,
        "_cuda_sleep": devices._sleep,
        "_cuda_set_sync_debug_mode": set_sync_debug_mode,
        "_cuda_get_sync_debug_mode": lambda: _sync_debug_mode,
        "_cuda_getCurrentBlasHandle": lambda: 0,
    }


def _streams() -> dict[str, Any]:
    return {
        "_CudaStreamBase": streams.StreamBase,
        "_CudaEventBase": streams.EventBase,
        "_cuda_getCurrentStream": streams.current,
        "_cuda_getDefaultStream": streams.default,
        "_cuda_getCurrentRawStream": lambda index: streams.current(index)[0],
        "_cuda_getStreamFromExternal": streams.from_handle,
        "_cuda_setStream": streams.set_current,
        "_CUDAGraph": graphs.KeptGraph,
        "_graph_pool_handle": graphs.graph_pool_handle,
        "_cuda_isCurrentStreamCapturing": graphs.is_current_stream_capturing,
    }


def _memory(machine: Machine) -> dict[str, Any]:
    native = machine.native
    return {
        "_cuda_emptyCache": native.empty_cache,
        "_host_emptyCache": memory.host_empty_cache,
        "_cuda_memoryStats": native.memory_stats,
        "_cuda_resetPeakMemoryStats": native.reset_peak_memory_stats,
        "_cuda_resetAccumulatedMemoryStats": native.reset_accumulated_memory_stats,
        "_cuda_getMemoryFraction": native.memory_fraction,
        "_cuda_setMemoryFraction": lambda fraction, index: native.set_memory_fraction(index, fraction),
        "_cuda_memorySnapshot": memory_snapshot,
        "_cuda_record_memory_history": record_memory_history,
        "_cuda_getAllocatorBackend": memory.get_allocator_backend,
        "_cuda_ipc_collect": devices.ipc_collect,
        "_cuda_hostMemoryStats": native.pinned_memory_stats,
        "_cuda_resetPeakHostMemoryStats": lambda: native.reset_pinned_memory_stats(True),
        "_cuda_resetAccumulatedHostMemoryStats": lambda: native.reset_pinned_memory_stats(False),
        "_cuda_cudaCachingAllocator_raw_alloc": lambda size, stream: native.allocate(size, -1),
        "_cuda_cudaCachingAllocator_raw_delete": native.deallocate,
        "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
        "_cuda_cudaCachingAllocator_enable": lambda enabled: None,
    }


def _pools(machine: Machine) -> dict[str, Any]:
    native = machine.native
    return {
        "_cuda_CUDAAllocator": type("_cuda_CUDAAllocator", (), {}),
        "_cuda_CUDAAllocator_AllocatorState": type("_cuda_CUDAAllocator_AllocatorState", (), {}),
        "_MemPool": MemPool,
        "_cuda_beginAllocateToPool": lambda index, pool: native.begin_pool(index, pool, native.Reach.PROCESS),
        "_cuda_beginAllocateCurrentThreadToPool": lambda index, pool: native.begin_pool(
            index, pool, native.Reach.THREAD
        ),
        "_cuda_endAllocateToPool": native.end_pool,
        "_cuda_releasePool": native.let_go_of_pool,
    }


class MemPool(pools.MemPool):
    """``torch._C._MemPool``: a pool of one device's memory."""

    def __init__(
        self,
        allocator: Any = None,
        is_user_created: bool = True,
        use_on_oom: bool = False,
        no_split: bool = False,
    ) -> None:
        super().__init__(allocator, use_on_oom, no_split)


def memory_snapshot(wanted: tuple[Any, ...] | None) -> dict[str, Any]:
    """Answers ``torch._C._cuda_memorySnapshot``: the segments, of one pool if named, and the history."""
    pool = tuple(wanted[:2]) if wanted else (0, 0)
    chosen = memory.memory_snapshot(None if pool == (0, 0) else pool)
    return {"segments": chosen, "device_traces": started().native.memory_traces()}


def record_memory_history(
    enabled: str | None, context: str | None, stacks: str, max_entries: int, *options: Any, **more: Any
) -> None:
    """Answers ``torch._C._cuda_record_memory_history``: the events, of which nobody keeps the stacks."""
    started().native.record_memory_history(max_entries if enabled == "all" else 0)


def set_sync_debug_mode(mode: int) -> None:
    """Answers ``torch._C._cuda_set_sync_debug_mode``; waits are not reported here."""
    global _sync_debug_mode
    _sync_debug_mode = mode


def _hip() -> SimpleNamespace:
    functions = runtime.functions("cuda")
    functions |= {name: lambda: runtime.Code.success for name in ("cudaProfilerStart", "cudaProfilerStop")}
    return SimpleNamespace(**functions)


def _roctx() -> SimpleNamespace:
    """Gives the functions that mark ranges, which nobody reads here."""
    numbers, depth = itertools.count(1), itertools.count()
    return SimpleNamespace(
        rangePushA=lambda message: next(depth),
        rangePop=lambda: 0,
        rangeStartA=lambda message: next(numbers),
        rangeEnd=lambda number: None,
        markA=lambda message: None,
        deviceRangeStart=lambda message, stream: next(numbers),
        deviceRangeEnd=lambda number, stream: None,
    )
