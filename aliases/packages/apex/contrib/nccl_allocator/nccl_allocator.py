"""Memory pools for the tensors of collectives.

NCCL registers such memory to avoid copies. The vendors' libraries accept any memory.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

__all__ = ["create_nccl_mem_pool", "init", "nccl_mem"]


def create_nccl_mem_pool(symmetric: bool | None = None) -> Any:
    """Return a pool; ``symmetric`` is ignored, since no memory is registered."""
    return torch.cuda.MemPool()


def init() -> None:
    """Do nothing: the switches that apex sets are NCCL's."""


def nccl_mem(
    pool: Any, enabled: bool = True, device: Any = None, group: Any = None
) -> contextlib.AbstractContextManager[None]:
    """Return a block that allocates from a pool if ``enabled``; ``group`` is ignored."""
    where = torch.device("cuda", device) if isinstance(device, int) else device
    return torch.cuda.use_mem_pool(pool, where) if enabled else contextlib.nullcontext()
