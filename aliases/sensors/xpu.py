"""Intel's readings, from torch.xpu, which asks Level Zero through the package pyzes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import Clock, UnknownReadingError
from morph.aliases.sensors.torch_device import TorchDevice

_NO_LIBRARY = "torch.xpu takes it from pyzes; pip install 'torch-morph[xpu]'"
_DOES_NOT_TELL = "neither torch.xpu nor Level Zero tells it through pyzes"


def open_source() -> Source:
    """Return the source."""
    return LevelZero()


class LevelZero(Source):
    """Intel's GPUs as torch.xpu sees them."""

    title = "torch.xpu"
    why_unknown = _DOES_NOT_TELL

    def devices(self) -> Sequence[IntelGpu]:
        """Return the GPUs that torch.xpu sees."""
        return [IntelGpu(index, _DOES_NOT_TELL) for index in range(torch.xpu.device_count())]

    def driver_version(self) -> str:
        """Return the driver's version."""
        return str(torch.xpu.get_device_properties(0).driver_version)


class IntelGpu(TorchDevice):
    """A GPU of Intel's."""

    def busy(self) -> int:
        """Return the percentage of time that the engines were busy."""
        return round(_ask(torch.xpu.utilization, self.index))

    def memory_busy(self) -> int:
        """Return the percentage of the memory's bandwidth that was in use."""
        return round(_ask(torch.xpu.memory_usage, self.index))

    def temperature(self) -> int:
        """Return the GPU's temperature."""
        return round(_ask(torch.xpu.temperature, self.index))

    def power(self) -> int:
        """Return the GPU's power, which Level Zero tells in watts."""
        return round(_ask(torch.xpu.power_draw, self.index) * 1000)

    def clock(self, clock: Clock) -> int:
        """Return the clock of the GPU."""
        if clock is not Clock.COMPUTE:
            return super().clock(clock)
        return round(_ask(torch.xpu.clock_rate, self.index))

    def memory_bus_width(self) -> int:
        """Return the width of the memory's bus."""
        width = getattr(torch.xpu.get_device_properties(self.index), "memory_bus_width", 0)
        return int(width) or super().memory_bus_width()


def _ask(measure: Callable[[int], float], index: int) -> float:
    try:
        return measure(index)
    except ImportError as error:
        raise UnknownReadingError(_NO_LIBRARY) from error
    except RuntimeError as error:  # the driver is there without Sysman, or the board has no such sensor
        raise UnknownReadingError(str(error)) from error
