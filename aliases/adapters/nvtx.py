"""``torch.cuda.nvtx`` on a vendor's own profiler annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

Annotate = Callable[[str], int]


def annotate(target: Annotate, msg: str) -> int:
    """Implement ``range_push``, ``range_start`` and ``mark``; unlike CUDA, vendors reject empty messages."""
    return target(msg or " ")  # torch_npu 2.13.0's mstx.mark warns of an empty one, and marks nothing


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Push a range for the duration of a ``with`` block or decorated function.

    Args:
        msg: The message, formatted with the other arguments.
    """
    nvtx: Any = torch.cuda.nvtx
    nvtx.range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        nvtx.range_pop()
