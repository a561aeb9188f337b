"""Memory functions that torch.cuda deprecates on CUDA too: old names of other functions."""

from __future__ import annotations

from typing import Any

import torch
from typing_extensions import deprecated

_RENAMED = "`torch.cuda.{}` has been renamed to `torch.cuda.{}`"
_RESETS_ALL = (
    "torch.cuda.{} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak memory stats."
)


@deprecated(_RENAMED.format("memory_cached", "memory_reserved"), category=FutureWarning)
def memory_cached(device: Any = None) -> int:
    """Deprecated; see ``memory_reserved``."""
    return int(_cuda().memory_reserved(device))


@deprecated(_RENAMED.format("max_memory_cached", "max_memory_reserved"), category=FutureWarning)
def max_memory_cached(device: Any = None) -> int:
    """Deprecated; see ``max_memory_reserved``."""
    return int(_cuda().max_memory_reserved(device))


@deprecated(_RESETS_ALL.format("reset_max_memory_allocated"), category=FutureWarning)
def reset_max_memory_allocated(device: Any = None) -> None:
    """Deprecated; see ``reset_peak_memory_stats``."""
    _cuda().reset_peak_memory_stats(device)


@deprecated(_RESETS_ALL.format("reset_max_memory_cached"), category=FutureWarning)
def reset_max_memory_cached(device: Any = None) -> None:
    """Deprecated; see ``reset_peak_memory_stats``."""
    _cuda().reset_peak_memory_stats(device)


def _cuda() -> Any:
    return torch.cuda
