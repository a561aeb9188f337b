"""Intel's readings: from Level Zero Sysman through the package pyzes, else from torch.xpu."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import torch

from morph.aliases.sensors.intel import SysmanGpu
from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import AbsentLibraryError, Clock, UnknownReadingError
from morph.aliases.sensors.sysman import Sysman
from morph.aliases.sensors.torch_device import TorchDevice, TorchSource

_NO_LIBRARY = "pyzes is not installed; pip install 'torch-morph[xpu]'"


def open_source() -> Source:
    """Return the source: Sysman, or torch.xpu where pyzes or Level Zero's loader is absent."""
    try:
        return LevelZero(Sysman.load())
    except ImportError:
        return TorchXpu("torch.xpu", _NO_LIBRARY, IntelGpu)
    except (OSError, UnknownReadingError) as error:
        problem = f"pyzes cannot be used ({error}); Level Zero comes with Intel's driver"
        return TorchXpu("torch.xpu", problem, IntelGpu)


class LevelZero(Source):
    """Level Zero Sysman, including the devices that are hidden from torch.

    Args:
        sysman: The opened Sysman.
    """

    title = "pyzes"
    why_unknown = SysmanGpu.why_unknown

    def __init__(self, sysman: Sysman) -> None:
        self.sysman = sysman

    def devices(self) -> Sequence[SysmanGpu]:
        """Return the cards, or their tiles if torch.xpu exposes each tile as a device."""
        return [device for card in self.sysman.cards() for device in self._devices_of(card)]

    def driver_version(self) -> str:
        """Return the version of the driver."""
        return self.devices()[0].driver_version()

    def position(self, index: int) -> int:
        """Return the position of the device with torch.xpu's index ``index``: masks keep the order."""
        mask = os.environ.get("ZE_AFFINITY_MASK", "").split(",")
        shown = sorted({int(part) for part in mask if part.strip().isdigit()})
        return shown[index] if index < len(shown) else index

    def _devices_of(self, card: object) -> Iterator[SysmanGpu]:
        whole = SysmanGpu(self.sysman, card)
        tiles = whole.properties.numSubdevices
        if not tiles or os.environ.get("ZE_FLAT_DEVICE_HIERARCHY") == "COMPOSITE":
            yield whole
        else:
            yield from (SysmanGpu(self.sysman, card, tile) for tile in range(tiles))


class TorchXpu(TorchSource):
    """Intel GPUs as torch.xpu reports them."""

    def driver_version(self) -> str:
        """Return the driver's version."""
        return str(torch.xpu.get_device_properties(0).driver_version)


class IntelGpu(TorchDevice):
    """An Intel GPU, for which torch.xpu itself provides some readings if it can import pyzes."""

    def busy(self) -> int:
        """Return the percentage of time in which the engines were busy."""
        return round(self._ask(torch.xpu.utilization))

    def memory_busy(self) -> int:
        """Return the percentage of the memory's bandwidth that was in use."""
        return round(self._ask(torch.xpu.memory_usage))

    def temperature(self) -> int:
        """Return the GPU's temperature."""
        return round(self._ask(torch.xpu.temperature))

    def power(self) -> int:
        """Return the GPU's power, which torch.xpu reports in watts."""
        return round(self._ask(torch.xpu.power_draw) * 1000)

    def clock(self, clock: Clock) -> int:
        """Return the clock of the GPU."""
        if clock is not Clock.COMPUTE:
            return super().clock(clock)
        return round(self._ask(torch.xpu.clock_rate))

    def memory_bus_width(self) -> int:
        """Return the width of the memory bus."""
        width = getattr(torch.xpu.get_device_properties(self.index), "memory_bus_width", 0)
        return int(width) or super().memory_bus_width()

    def _ask(self, measure: Callable[[int], float]) -> float:
        try:
            return measure(self.index)
        except ImportError as error:
            raise AbsentLibraryError(self.why_unknown) from error
        except RuntimeError as error:  # the driver lacks Sysman, or the board has no such sensor
            raise UnknownReadingError(str(error)) from error
