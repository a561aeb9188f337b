"""Level Zero's readings of a GPU, as whole numbers in NVML's units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MILLIWATTS_PER_WATT = 1000

Measure = Callable[[Any], float]


def rounded(target: Measure, device: Any = None) -> int:
    """Implement ``clock_rate``, ``temperature``, ``utilization`` and ``memory_usage``, in CUDA's units."""
    return round(target(device))


def power_draw(target: Measure, device: Any = None) -> int:
    """Implement ``torch.cuda.power_draw(device)`` in milliwatts.

    Args:
        target: Intel's function, which returns watts.
        device: The device; None is the current one.
    """
    return round(target(device) * MILLIWATTS_PER_WATT)
