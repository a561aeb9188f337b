"""Memory statistics, which are PJRT's own: bytes of the device in use, at most in use, and in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from morph.aliases.adapters.tpu.devices import refuse_unless_own
from morph.backends.refusal import lacks


def figure(target: Callable[[int], Any], device: Any = None) -> Any:
    """Implement CUDA's functions of the memory of a device with torch.accelerator's.

    Args:
        target: torch.accelerator's function, which takes its argument by place.
        device: The device; None is the current one.
    """
    refuse_unless_own(device)
    return target(0)


def mem_get_info(target: Callable[[int], tuple[int, int]], device: Any = None) -> tuple[int, int]:
    """Implement ``torch.cuda.mem_get_info(device)``.

    Returns:
        Free and total bytes of the device.

    Raises:
        MissingNameError: If the PJRT plug-in has no such figures.
    """
    free, total = figure(target, device)
    if total == 0:
        raise lacks("torch.cuda.mem_get_info()", "this PJRT plug-in has no statistics of its allocator")
    return free, total


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Implement ``torch.cuda.memory_stats_as_nested_dict(device)``."""
    nested: dict[str, Any] = {}
    for name, value in torch.cuda.memory_stats(device).items():
        *path, last = name.split(".")
        place = nested
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return nested
