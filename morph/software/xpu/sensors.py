"""The sensors of torch.xpu, which reads them from Intel's package pyzes; here the device answers instead."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from morph.software import memory
from morph.software.devices import valid_index

# The figures of a device that has nothing to do: MHz, percent, watts, degrees Celsius, percent.
IDLE = {
    "clock_rate": 1600.0,
    "memory_usage": 0.0,
    "power_draw": 118.4,
    "temperature": 35.5,
    "utilization": 0.0,
}


def attach(module: ModuleType) -> None:
    """Make the sensors of torch.xpu answer.

    Args:
        module: torch.xpu, executed for the simulated device.
    """
    for name in IDLE.keys() & vars(module).keys():  # torch 2.7 has none of them
        setattr(module, name, _answering(getattr(module, name), IDLE[name]))
    others: dict[str, Callable[..., Any]] = {
        "device_memory_used": _memory_used,
        "_enum_zes_device_infos": _refuse_to_count,
    }
    for name in others.keys() & vars(module).keys():
        setattr(module, name, functools.wraps(getattr(module, name))(others[name]))


def _answering(function: Callable[..., Any], figure: float) -> Callable[..., float]:
    @functools.wraps(function)
    def answer(device: Any = None) -> float:
        valid_index(device)
        return figure

    return answer


def _refuse_to_count(visible_mask: list[int]) -> int:
    return -1  # the runtime decides the number of devices: a real pyzes knows only the real ones


def _memory_used(device: Any = None) -> int:
    free, total = memory.mem_get_info(device)
    return total - free
