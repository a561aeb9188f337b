"""NVTX ranges as ranges of torch's profiler, for vendors without ranges of their own."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import torch

_thread = threading.local()
_started: dict[int, Any] = {}
_numbers = itertools.count(1)


def range_push(msg: str) -> int:
    """Begin a range inside those of this thread; return its depth, from 0."""
    _stack().append(_begin(msg))
    return len(_stack()) - 1


def range_pop() -> int:
    """End the innermost range of this thread; return its depth, or -1 if there is none, as NVTX does."""
    if not _stack():
        return -1
    _stack().pop().__exit__(None, None, None)
    return len(_stack())


def range_start(msg: str) -> int:
    """Begin a range that need not be nested; return a number for ``range_end``."""
    number = next(_numbers)
    _started[number] = _begin(msg)
    return number


def range_end(range_id: int) -> None:
    """End the range that ``range_start`` began; an unknown number is ignored, as NVTX does."""
    if range_id in _started:
        _started.pop(range_id).__exit__(None, None, None)


def device_range_start(msg: str, stream: int = 0) -> int:
    """Begin a range; it is a host range, and so does not wait for a stream."""
    return range_start(msg)


def device_range_end(range_handle: int, stream: int = 0) -> None:
    """End the range that ``device_range_start`` began."""
    range_end(range_handle)


def mark(msg: str) -> None:
    """Mark a point in time: a range of zero length."""
    _begin(msg).__exit__(None, None, None)


def _begin(msg: str) -> torch.profiler.record_function:
    entered: torch.profiler.record_function = torch.profiler.record_function(msg).__enter__()  # type: ignore[no-untyped-call]
    return entered


def _stack() -> list[Any]:
    if not hasattr(_thread, "stack"):
        _thread.stack = []
    stack: list[Any] = _thread.stack
    return stack
