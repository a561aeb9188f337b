"""Memory pools: parameters and members of CUDA's class that a vendor's class lacks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from morph.backends.refusal import lacks


def initialise_pool(
    target: Callable[..., None],
    pool: Any,
    allocator: Any = None,
    use_on_oom: bool = False,
    no_split: bool = False,
) -> None:
    """Initialise a ``torch.cuda.MemPool``.

    Args:
        target: The vendor's function; torch_musa's takes the allocator only before 2.9.1.post1.
        pool: The pool.
        allocator: The source of its memory; None is the device.
        use_on_oom: Refused if true, where the vendor lacks it.
        no_split: Refused if true, where the vendor lacks it.

    Raises:
        MissingNameError: If a parameter is requested that the vendor lacks.
    """
    asked = {name: True for name, value in {"use_on_oom": use_on_oom, "no_split": no_split}.items() if value}
    for name in asked.keys() - inspect.signature(target).parameters.keys():
        raise lacks(f"torch.cuda.MemPool({name}=True)", "its pools have no such parameter")
    target(pool, allocator, **asked)


def snapshot(pool: Any, include_traces: bool = True) -> Any:
    """Return the segments of ``pool``."""
    cuda: Any = torch.cuda
    return cuda.memory_snapshot(pool.id, include_traces)
