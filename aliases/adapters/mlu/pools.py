"""Memory pools: torch_mlu has no class for them, but its allocator has pools for graphs."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from morph.backends import vendor_module
from morph.backends.refusal import lacks


class MemPool:
    """A separate memory pool of the allocator.

    Args:
        allocator: Must be None: the pools belong to the caching allocator.
        use_on_oom: Refused if true.
        no_split: Refused if true.

    Attributes:
        id: Two numbers that identify a pool or graph.
        allocator: None.

    Raises:
        MissingNameError: If an argument is neither None nor False.
    """

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        asked = {"allocator": allocator is not None, "use_on_oom": use_on_oom, "no_split": no_split}
        for name in (name for name, wanted in asked.items() if wanted):
            raise lacks(f"torch.cuda.MemPool({name}=...)", "its pools are plain ones of the allocator")
        self.id: tuple[int, int] = vendor_module().graph_pool_handle()
        self.allocator = None
        self._devices: set[int] = set()
        self._running = 0

    def snapshot(self, include_traces: bool = True) -> Any:
        """Return the pool's segments."""
        cuda: Any = torch.cuda
        return cuda.memory_snapshot(self.id, include_traces)

    def use_count(self) -> int:
        """Return the number of holders of the pool: this object, and each ``with`` block that uses it."""
        return self._running + 1

    def begin(self, bindings: Any, device: int) -> None:
        """Allocate memory for the current stream of ``device`` from this pool."""
        bindings._mlu_beginAllocateCurrentStreamToPool(device, self.id)
        self._running += 1

    def end(self, bindings: Any, device: int) -> None:
        """Allocate from the allocator again; the pool is released with its last object."""
        bindings._mlu_endAllocateCurrentStreamToPool(device, self.id)
        self._running -= 1
        if device in self._devices:
            bindings._mlu_releasePool(device, self.id)
            return
        self._devices.add(device)
        weakref.finalize(self, bindings._mlu_releasePool, device, self.id)


MemPool.__module__ = "torch.cuda.memory"


@contextmanager
def use_mem_pool(target: Any, pool: MemPool, device: Any = None) -> Iterator[None]:
    """Allocate memory for the current stream from ``pool`` inside a ``with`` block.

    Args:
        target: ``torch_mlu._MLUC``.
        pool: The pool.
        device: The device; None is the current one.
    """
    cuda: Any = torch.cuda
    index = cuda._get_device_index(device, optional=True)
    pool.begin(target, index)
    try:
        yield
    finally:
        pool.end(target, index)
