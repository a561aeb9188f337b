"""Memory pools: on the CPU all memory is from one heap, so that a pool is only a name."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, NoReturn

from morph.aliases.torch_cuda.cpu.device import index_of
from morph.aliases.torch_cuda.refusal import lacks

_numbers = itertools.count(1)


class MemPool:
    """The name of a pool.

    Args:
        allocator: None; torch's allocator of host memory is the only one.
        use_on_oom: Without effect.
        no_split: Without effect.

    Attributes:
        id: Two numbers that tell pools and graphs apart.
    """

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if allocator is not None:
            raise lacks(
                "torch.cuda.MemPool(allocator=...)", "torch's allocator of host memory is the only one"
            )
        self.id = pool_id()

    def use_count(self) -> int:
        """Return 1: the pool has one owner."""
        return 1

    def snapshot(self, include_traces: bool = True) -> NoReturn:
        """Refuse by name: the heap keeps no list of blocks."""
        raise lacks("torch.cuda.MemPool.snapshot", "the C library keeps no list of blocks")


MemPool.__module__ = "torch.cuda.memory"


def pool_id() -> tuple[int, int]:
    """Return a token for a pool."""
    return 0, next(_numbers)


def use_mem_pool(pool: MemPool, device: Any = None) -> contextlib.AbstractContextManager[None]:
    """Return a context manager in which memory is from the heap, as always."""
    index_of(device, optional=True)
    return contextlib.nullcontext()
