"""Memory functions that torch.cuda deprecates on CUDA too: old names of other functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from typing_extensions import deprecated

_RENAMED = "`torch.cuda.{}` has been renamed to `torch.cuda.{}`"
_RESETS_ALL = "torch.cuda.{} now calls torch.cuda.{}, which resets /all/ peak memory stats."


def _deprecated(name: str, target: str, warning: str) -> Callable[..., Any]:
    """Return an old name's function, which warns as CUDA's does, and calls that of the new name."""

    @deprecated(warning.format(name, target), category=FutureWarning)
    def call(device: Any = None) -> Any:
        return getattr(torch.cuda, target)(device)

    return call


memory_cached = _deprecated("memory_cached", "memory_reserved", _RENAMED)
max_memory_cached = _deprecated("max_memory_cached", "max_memory_reserved", _RENAMED)
reset_max_memory_allocated = _deprecated("reset_max_memory_allocated", "reset_peak_memory_stats", _RESETS_ALL)
reset_max_memory_cached = _deprecated("reset_max_memory_cached", "reset_peak_memory_stats", _RESETS_ALL)
