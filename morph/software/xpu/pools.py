"""Pools of memory, and allocators of the user's own."""

from __future__ import annotations

from morph.software import pools
from morph.software.machine import NotSimulatedError, started


class Allocator:
    """``torch._C._xpu_XPUAllocator``: functions of a library that allocate, which nothing here calls.

    Args:
        allocate: The address of the function that allocates.
        release: The address of the function that frees.
    """

    def __init__(self, allocate: int, release: int) -> None:
        self.functions = allocate, release


def change_allocator(allocator: Allocator) -> None:
    """Always refused: the device's memory is the simulated machine's own."""
    raise NotSimulatedError("torch.xpu.memory.change_current_allocator")


def current_allocator() -> Allocator:
    """Always refused: the device's memory is the simulated machine's own."""
    raise NotSimulatedError("torch.xpu.memory._get_current_allocator")


class MemPool(pools.MemPool):
    """``torch._C._XPUMemPool``: a pool of one device's memory.

    Args:
        allocator: Refused unless None.
        is_user_created: Whether a program made it, or a graph.
        use_on_oom: Whether the pool lends when memory runs out, which the simulated one does not.
    """

    def __init__(
        self, allocator: Allocator | None = None, is_user_created: bool = True, use_on_oom: bool = False
    ) -> None:
        if allocator is not None:
            raise NotSimulatedError("torch.xpu.MemPool(allocator=...)")
        self._take(pools.new_id() if is_user_created else pools.new_id_of_graph())


def begin_in_thread(index: int, pool: pools.Id) -> None:
    """Take the memory of this thread's tensors on a device from a pool."""
    started().native.begin_pool(index, pool, started().native.Reach.THREAD)


def begin(index: int, pool: pools.Id) -> None:
    """Take the memory of all tensors on a device from a pool."""
    started().native.begin_pool(index, pool, started().native.Reach.PROCESS)


for _class, _name in ((Allocator, "_xpu_XPUAllocator"), (MemPool, "_XPUMemPool")):
    _class.__name__ = _class.__qualname__ = _name
    _class.__module__ = "torch._C"
