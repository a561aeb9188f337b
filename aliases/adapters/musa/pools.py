"""Memory pools: parameters and members of CUDA's class that Moore Threads' class lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from morph.backends.refusal import lacks


def initialise_pool(
    target: Callable[[Any, Any], None],
    pool: Any,
    allocator: Any = None,
    use_on_oom: bool = False,
    no_split: bool = False,
) -> None:
    """Initialise a ``torch.cuda.MemPool``.

    Args:
        target: The vendor's function, which takes the allocator only.
        pool: The pool.
        allocator: The source of its memory; None is the device.
        use_on_oom: Refused if true.
        no_split: Refused if true.

    Raises:
        MissingNameError: If one of the last two is requested.
    """
    for name in [name for name, asked in {"use_on_oom": use_on_oom, "no_split": no_split}.items() if asked]:
        raise lacks(f"torch.cuda.MemPool({name}=True)", "its pools take an allocator only")
    target(pool, allocator)


def snapshot(pool: Any, include_traces: bool = True) -> Any:
    """Return the segments of ``pool``."""
    cuda: Any = torch.cuda
    return cuda.memory_snapshot(pool.id, include_traces)
