"""NVTX ranges as ITT ranges, which do not report their depth."""

from __future__ import annotations

import threading
from collections.abc import Callable

_thread = threading.local()


def range_push(target: Callable[[str], object], msg: str) -> int:
    """Begin a range inside those of this thread; return its depth, from 0."""
    target(msg)
    _thread.open = _open() + 1
    return _open() - 1


def range_pop(target: Callable[[], object]) -> int:
    """End the innermost range of this thread; return its depth, or -1 if there is none, as NVTX does."""
    if _open():
        target()
        _thread.open = _open() - 1
        return _open()
    return -1


def _open() -> int:
    count: int = getattr(_thread, "open", 0)
    return count
