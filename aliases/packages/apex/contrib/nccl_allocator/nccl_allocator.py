"""Memory pools for the tensors of collectives.

NCCL registers such memory to avoid copies. The vendors' libraries accept any memory.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

__all__ = ["create_nccl_mem_pool", "init", "nccl_mem"]


def create_nccl_mem_pool(symmetric: bool | None = None) -> Any:
    """Return a pool.

    Args:
        symmetric: Ignored: no memory is registered.
    """
    return torch.cuda.MemPool()


def init() -> None:
    """Do nothing: the switches that apex sets are NCCL's."""


class nccl_mem:
    """Allocates memory from a pool inside a block.

    Args:
        pool: The pool.
        enabled: Whether it has any effect.
        device: The device; None for the current one.
        group: Ignored: no memory is registered.
    """

    def __init__(self, pool: Any, enabled: bool = True, device: Any = None, group: Any = None) -> None:
        self.pool = pool
        self.device = torch.device("cuda", device) if isinstance(device, int) else device
        self.group = group
        self.mem_context: Any = contextlib.nullcontext()
        if enabled:
            self.mem_context = torch.cuda.use_mem_pool(pool, self.device)

    def __enter__(self) -> None:
        self.mem_context.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self.mem_context.__exit__(*exception)
