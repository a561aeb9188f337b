"""``torch.cuda.profiler`` on the served runtime."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


def start() -> None:
    """Start collecting the profile, as far as the runtime's ``cudaProfilerStart`` does."""
    cuda: Any = torch.cuda
    cuda.check_error(cuda.cudart().cudaProfilerStart())


def stop() -> None:
    """Stop collecting the profile, as far as the runtime's ``cudaProfilerStop`` does."""
    cuda: Any = torch.cuda
    cuda.check_error(cuda.cudart().cudaProfilerStop())


@contextmanager
def profile() -> Iterator[None]:
    """Collect the profile of a ``with`` block."""
    try:
        start()
        yield
    finally:
        stop()
