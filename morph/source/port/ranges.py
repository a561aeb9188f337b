"""More stand-ins to copy into ported modules, like ``stand_ins.py``: ranges of a profile."""

from __future__ import annotations

import threading
from typing import Any

import torch

ranges = threading.local()


def profile_range(message: str, *args: Any, **kwargs: Any) -> Any:
    """Return a range of the profile, for a ``with`` block or as a decorator."""
    return torch.profiler.record_function(message.format(*args, **kwargs))


def range_start(message: str) -> Any:
    """Begin a range of the profile, and return it."""
    return torch.profiler.record_function(message).__enter__()


def range_end(range_id: Any) -> None:
    """End a range of the profile."""
    range_id.__exit__(None, None, None)


def range_push(message: str) -> int:
    """Begin a range of the profile inside those of this thread, and return their number."""
    around = vars(ranges).setdefault("around", [])
    around.append(range_start(message))
    return len(around) - 1


def range_pop() -> int:
    """End this thread's innermost range of the profile, and return the number of ranges around it."""
    range_end(vars(ranges)["around"].pop())
    return len(vars(ranges)["around"])


def mark(message: str) -> None:
    """Mark a moment in the profile."""
    range_end(range_start(message))
