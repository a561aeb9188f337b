"""Memory statistics, which are PJRT's own: bytes of the device in use, at most in use, and in all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from morph.aliases.adapters.tpu.devices import refuse_unless_own
from morph.backends.refusal import lacks

Figure = TypeVar("Figure")


def figure(target: Callable[[int], Figure], device: Any = None) -> Figure:
    """Implement CUDA's functions of the memory of a device with torch.accelerator's.

    torch_tpu allocates when it computes, some time after the call; CUDA's figures count what was called for.

    Args:
        target: torch.accelerator's function, which takes its argument by place.
        device: The device; None is the current one.
    """
    refuse_unless_own(device)
    _wait()
    return target(0)


def _wait() -> None:
    torch.cuda.synchronize()
    time.sleep(1e-4)  # torch_tpu's threads let go of tensors after they have said that it is done (0.2.0)


def memory_reserved(target: Callable[[int], int], device: Any = None) -> int:
    """Implement ``torch.cuda.memory_reserved(device)``; PJRT's figure is what it keeps beside the tensors."""
    return max(figure(target, device), torch.accelerator.memory_allocated(0))


def max_memory_reserved(target: Callable[[int], int], device: Any = None) -> int:
    """Implement ``torch.cuda.max_memory_reserved(device)``."""
    return max(figure(target, device), torch.accelerator.max_memory_allocated(0))


def memory_stats(target: Callable[[int], dict[str, Any]], device: Any = None) -> dict[str, Any]:
    """Implement ``torch.cuda.memory_stats(device)``, with the reserved bytes of ``memory_reserved()``."""
    figures = figure(target, device)
    for when in ("current", "peak"):
        reserved, allocated = f"reserved_bytes.all.{when}", f"allocated_bytes.all.{when}"
        figures[reserved] = max(figures[reserved], figures[allocated])
    return figures


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Implement ``torch.cuda.set_per_process_memory_fraction``: PJRT has no limit, and none is set.

    Raises:
        ValueError: If ``fraction`` is not between 0 and 1.
    """
    refuse_unless_own(device)
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")


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
