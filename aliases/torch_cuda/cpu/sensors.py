"""What NVML measures of a GPU, measured of the processor."""

from __future__ import annotations

from typing import Any

import psutil

from morph.aliases.torch_cuda.cpu.device import index_of
from morph.aliases.torch_cuda.refusal import lacks

# The kernel's names of the sensors in processors: Intel, AMD, Arm
_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")


def utilization(device: Any = None) -> int:
    """Return the percentage of time that the processor was busy since the last call."""
    index_of(device, optional=True)
    return round(psutil.cpu_percent())


def temperature(device: Any = None) -> int:
    """Return the processor's temperature in degrees Celsius.

    Raises:
        MissingNameError: If the system does not tell.
    """
    index_of(device, optional=True)
    sensors = psutil.sensors_temperatures() if hasattr(psutil, "sensors_temperatures") else {}
    for name in _SENSORS:
        if sensors.get(name):
            return round(sensors[name][0].current)
    raise lacks("torch.cuda.temperature", "the system shows no sensor of the processor")


def clock_rate(device: Any = None) -> int:
    """Return the processor's clock in megahertz.

    Raises:
        MissingNameError: If the system does not tell.
    """
    index_of(device, optional=True)
    frequency = psutil.cpu_freq()
    if frequency is None:
        raise lacks("torch.cuda.clock_rate", "the system does not tell the processor's clock")
    return round(frequency.current)
