"""Memory, its pools and its history, as ``torch._C`` offers them in a build for CUDA."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import torch

from morph.software import devices, histories, pools
from morph.software.machine import Machine, NotSimulatedError, started

_free_mutex = threading.Lock()


def names(machine: Machine) -> dict[str, Any]:
    """Return the names of ``torch._C``, with what each is.

    Args:
        machine: The software devices.
    """
    native = machine.native
    return {
        "_cuda_emptyCache": native.empty_cache,
        "_cuda_memoryStats": native.memory_stats,
        "_cuda_resetPeakMemoryStats": native.reset_peak_memory_stats,
        "_cuda_resetAccumulatedMemoryStats": native.reset_accumulated_memory_stats,
        "_cuda_getMemoryFraction": native.memory_fraction,
        "_cuda_setMemoryFraction": lambda fraction, index: native.set_memory_fraction(index, fraction),
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_ipc_collect": devices.ipc_collect,
        "_cuda_cudaCachingAllocator_raw_alloc": lambda size, stream: native.allocate(size, -1),
        "_cuda_cudaCachingAllocator_raw_delete": native.deallocate,
        "_cuda_cudaCachingAllocator_is_enabled": native.caches,
        "_cuda_cudaCachingAllocator_enable": native.set_caching,
        "_cuda_lock_mutex": _free_mutex.acquire,
        "_cuda_unlock_mutex": _free_mutex.release,
        "_cuda_CUDAAllocator": _cuda_CUDAAllocator,
        "_cuda_getAllocator": _cuda_CUDAAllocator,
        "_cuda_CUDAAllocator_AllocatorState": native.PoolState,
        **_settings(),
        **_host(native),
        **_history(native),
        **_pools(native),
        **_tensors(native),
    }


def _settings() -> dict[str, Any]:
    # before torch 2.10 only a build for CUDA reads them
    change = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
    return {"_cuda_cudaCachingAllocator_set_allocator_settings": change} if change else {}


def _host(native: Any) -> dict[str, Any]:
    return {
        "_host_emptyCache": native.empty_pinned_cache,
        "_cuda_cudaHostAllocator": native.pinned_allocator,
        "_cuda_hostMemoryStats": native.pinned_memory_stats,
        "_cuda_resetPeakHostMemoryStats": native.reset_peak_pinned_memory_stats,
        "_cuda_resetAccumulatedHostMemoryStats": native.reset_accumulated_pinned_memory_stats,
    }


def _history(native: Any) -> dict[str, Any]:
    return {
        "_cuda_memorySnapshot": memory_snapshot,
        "_cuda_record_memory_history": record_memory_history,
        "_cuda_record_memory_history_legacy": record_memory_history_legacy,
        "_cuda_isHistoryEnabled": native.is_memory_recorded,
        "_cuda_allocationTraceback": native.allocation_frames,
        "_cuda_setMemoryMetadata": native.set_memory_metadata,
        "_cuda_getMemoryMetadata": native.memory_metadata,
        "_cuda_attach_out_of_memory_observer": native.observe_refused_memory,
    }


def _pools(native: Any) -> dict[str, Any]:
    reach = native.Reach
    contexts = {"_MemPoolContext": MemPoolContext} if hasattr(torch.cuda.memory, "MemPoolContext") else {}
    return contexts | {
        "_MemPool": MemPool,
        "_cuda_beginAllocateToPool": lambda index, pool: native.begin_pool(index, pool, reach.PROCESS),
        "_cuda_beginAllocateCurrentThreadToPool": lambda index, pool: native.begin_pool(
            index, pool, reach.THREAD
        ),
        "_cuda_beginAllocateCurrentStreamToPool": lambda index, pool: native.begin_pool(
            index, pool, reach.STREAM
        ),
        "_cuda_endAllocateToPool": native.end_pool,
        "_cuda_endAllocateCurrentStreamToPool": native.end_pool,
        "_cuda_releasePool": native.let_go_of_pool,
        "_cuda_checkPoolLiveAllocations": holds_just,
        "_cuda_getCheckpointState": native.pool_state,
        # two outputs may share a storage
        "_cuda_setCheckpointPoolState": lambda index, state, stale, owners: native.put_back_pool(
            state, stale, list(dict.fromkeys(owners))
        ),
        "_free_And_Remove_DeleterFn": native.free_and_disown,
    }


def _tensors(native: Any) -> dict[str, Any]:
    return {
        "_has_Standard_Deleter": native.has_standard_deleter,
        "_set_storage_access_error_msg": native.forbid_tensor,
        "_set_storage_data_ptr_access_error_msg": native.forbid_storage,
        "_tensors_data_ptrs_at_indices_equal": lie_at,
        "_construct_CUDA_Tensor_From_Storage_And_Metadata": tensor_on,
    }


class _cuda_CUDAAllocator:
    """``torch._C._cuda_CUDAAllocator``: an allocator of a device's memory, here the only one."""


class MemPool(pools.MemPool):
    """``torch._C._MemPool``: a pool of one device's memory."""

    def __init__(
        self,
        allocator: Any = None,
        is_user_created: bool = True,
        use_on_oom: bool = False,
        no_split: bool = False,
    ) -> None:
        if not isinstance(allocator, (_cuda_CUDAAllocator, type(None))):
            raise TypeError(f"__init__(): incompatible constructor arguments. Invoked with: {allocator!r}")
        super().__init__(allocator, use_on_oom, no_split)


class MemPoolContext:
    """``torch._C._MemPoolContext`` of torch 2.7: names the pool in use, without any effect."""

    _active = threading.local()

    def __init__(self, pool: MemPool) -> None:
        self._before = MemPoolContext.active_pool()
        MemPoolContext._active.pool = pool

    def __del__(self) -> None:
        """Make the pool from before the active one."""
        MemPoolContext._active.pool = self._before

    @staticmethod
    def active_pool() -> MemPool | None:
        """Return the pool in use by this thread."""
        found: MemPool | None = getattr(MemPoolContext._active, "pool", None)
        return found


def memory_snapshot(wanted: tuple[Any, ...] | None = None) -> dict[str, Any]:
    """Implement ``torch._C._cuda_memorySnapshot``: the segments, of one pool if named, and the history."""
    pool, with_events = (tuple(wanted[:2]) if wanted else (0, 0)), not wanted or len(wanted) < 3 or wanted[2]
    read = getattr(torch._C, "_accelerator_getAllocatorSettings", str)
    settings = read()
    return {
        "segments": histories.memory_snapshot(None if pool == (0, 0) else pool),
        "device_traces": started().native.memory_traces() if with_events else [],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": settings, "expandable_segments": False},
        "external_annotations": [],
    }


def record_memory_history(
    enabled: str | None,
    context: str | None,
    stacks: str,
    max_entries: int,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: Iterable[str] = (),
    record_pinned_host_memory: bool = False,
    record_cuda: bool = True,
) -> None:
    """Implement ``torch._C._cuda_record_memory_history``: record events, with the frames that led to them.

    Raises:
        NotSimulatedError: If the events of pinned memory are asked for.
    """
    if record_pinned_host_memory:
        raise NotSimulatedError("record_pinned_host_memory", "pinned memory is not taken from an allocator")
    wanted = enabled if record_cuda else None
    words = wanted, context, stacks, max_entries
    histories.record_history(*words, clear_history=clear_history, skip_actions=skip_actions)


def record_memory_history_legacy(
    enabled: bool,
    record_context: bool,
    max_entries: int,
    alloc_context: bool,
    native_frames: bool,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    *later: Any,
) -> None:
    """Implement ``torch._C._cuda_record_memory_history_legacy``: the same with older parameters first."""
    context = "alloc" if alloc_context else "state" if record_context else None
    stacks = "all" if native_frames else "python"
    options = (clear_history, compile_context, global_record_annotations, *later)
    record_memory_history("all" if enabled else None, context, stacks, max_entries, *options)


def holds_just(index: int, pool: tuple[int, int], expected: set[int]) -> bool:
    """Implement ``torch._C._cuda_checkPoolLiveAllocations``: whether a pool holds just these addresses."""
    segments = [each for each in histories.memory_snapshot(pool) if each["device"] == index]
    blocks = (block for each in segments for block in each["blocks"])
    return {block["address"] for block in blocks if block["state"] == "active_allocated"} == expected


def lie_at(tensors: list[Any], addresses: list[Any], places: list[int]) -> bool:
    """Implement ``torch._C._tensors_data_ptrs_at_indices_equal``."""
    return all(tensors[place].data_ptr() == addresses[place] for place in places)


def tensor_on(metadata: dict[str, Any], storage: torch.UntypedStorage) -> torch.Tensor:
    """Implement ``torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata``."""
    made = torch.empty(0, dtype=metadata["dtype"], device=storage.device)
    return made.set_(storage, metadata["storage_offset"], metadata["size"], metadata["stride"])
