"""The sensor functions of torch.cuda, read from the active backend's source of readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from morph.aliases import sensors
from morph.aliases.sensors.reading import (
    AbsentLibraryError,
    Clock,
    Device,
    Process,
    UnknownReadingError,
)
from morph.backends.refusal import lacks

Reading = TypeVar("Reading")
_MEGABYTE = 1 << 20


def _read(name: str, device: Any, ask: Callable[[Device], Reading]) -> Reading:
    """Return a reading of the device with torch's index ``device``.

    Raises:
        ModuleNotFoundError: If its library is missing, as in torch without nvidia-ml-py; with a remedy.
        MissingNameError: If the platform does not report it, with the reason.
    """
    index = _index(device)
    try:
        return ask(sensors.device(index))
    except AbsentLibraryError as absent:
        raise ModuleNotFoundError(f"torch.cuda.{name} cannot tell the {absent}") from None
    except UnknownReadingError as unknown:
        raise lacks(f"torch.cuda.{name}", str(unknown)) from None


def _reading(name: str, ask: Callable[[Device], int]) -> Callable[..., int]:
    """Return the function of ``torch.cuda`` that reads something of a device."""

    def read(device: Any = None) -> int:
        return _read(name, device, ask)

    return read


utilization = _reading("utilization", lambda found: found.busy())
memory_usage = _reading("memory_usage", lambda found: found.memory_busy())
temperature = _reading("temperature", lambda found: found.temperature())
power_draw = _reading("power_draw", lambda found: found.power())
clock_rate = _reading("clock_rate", lambda found: found.clock(Clock.COMPUTE))


def list_gpu_processes(device: Any = None) -> str:
    """Return a line for each process on the device, in CUDA's wording."""
    processes = _read("list_gpu_processes", device, lambda found: list(found.processes()))
    lines = [_line(process) for process in processes] or ["no processes are running"]
    return "\n".join([f"GPU:{_index(device)}", *lines])


def _line(process: Process) -> str:
    used = (process.memory or 0) / _MEGABYTE
    return f"process {process.pid:>10d} uses {used:>12.3f} MB GPU memory"


def _index(device: Any) -> int:
    cuda: Any = torch.cuda
    index: int = cuda._get_device_index(device, optional=True)
    if not 0 <= index < cuda.device_count():
        raise AssertionError("Invalid device id")
    return index
