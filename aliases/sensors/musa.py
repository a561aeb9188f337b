"""Moore Threads' readings, from the package mthreads-ml-py (``pymtml``)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from morph.aliases.sensors.origin import Source, visible
from morph.aliases.sensors.reading import Clock, Device, Memory, PciAddress, UnknownReadingError
from morph.aliases.sensors.torch_device import TorchSource

Value = TypeVar("Value")
_PCI = "mtmlDeviceGetPciInfo"
_DOES_NOT_TELL = "MTML does not report it"


def open_source() -> Source:
    """Return the source: MTML, or torch_musa where its package or library is absent."""
    try:
        library: Any = importlib.import_module("pymtml")
        library.mtmlLibraryInit()
    except ImportError:
        return TorchSource("torch_musa", "pymtml is not installed; pip install 'torch-morph[musa]'")
    except (OSError, library.MTMLError) as error:
        problem = str(error).partition("\n")[0]
        return TorchSource(
            "torch_musa", f"pymtml cannot be used ({problem}); libmtml comes with Moore Threads' driver"
        )
    return Mtml(library)


class Mtml(Source):
    """MTML.

    Args:
        library: The module pymtml, initialised.
    """

    title = "pymtml"
    why_unknown = _DOES_NOT_TELL

    def __init__(self, library: Any) -> None:
        self.library = library

    def devices(self) -> Sequence[Device]:
        """Return the GPUs."""
        return [
            MooreThreadsGpu(self.library, place) for place in range(self.library.mtmlLibraryCountDevice())
        ]

    def driver_version(self) -> str:
        """Return the driver's version."""
        return str(_told(self.library, lambda mtml: mtml.nvmlSystemGetDriverVersion()))

    def position(self, index: int) -> int:
        """Return the position of the device with torch_musa's index ``index``."""
        return visible(index)


def _fact(kind: Callable[[Any], Value], function: str) -> Callable[[MooreThreadsGpu], Value]:
    """Return the method that reports what a function of MTML returns of the GPU."""
    return lambda gpu: kind(gpu._device(function))


def _of_part(kind: Callable[[Any], Value], context: str, function: str) -> Callable[[MooreThreadsGpu], Value]:
    """Return the method that reports what a function of MTML returns of a part of the GPU."""
    return lambda gpu: kind(gpu._part(context, function))


class MooreThreadsGpu(Device):
    """A Moore Threads GPU.

    Args:
        library: The module pymtml.
        place: MTML's index of the GPU.
    """

    why_unknown = _DOES_NOT_TELL
    name = _fact(str, "mtmlDeviceGetName")
    serial = _fact(str, "mtmlDeviceGetSerialNumber")
    firmware = _fact(str, "mtmlDeviceGetVbiosVersion")
    cores = _fact(int, "mtmlDeviceCountGpuCores")
    power = _fact(int, "mtmlDeviceGetPowerUsage")  # of the board, in milliwatts
    uuid = _fact(lambda text: str(text).removeprefix("GPU-"), "mtmlDeviceGetUUID")
    pci = _fact(lambda info: PciAddress.parse(info.sbdf), _PCI)
    pci_ids = _fact(lambda info: (int(info.pciDeviceId), int(info.pciSubsystemId)), _PCI)
    pcie_link = _fact(lambda info: (int(info.pciCurGen), int(info.pciCurWidth)), _PCI)
    max_pcie_link = _fact(lambda info: (int(info.pciMaxGen), int(info.pciMaxWidth)), _PCI)
    busy = _of_part(int, "mtmlGpuContext", "mtmlGpuGetUtilization")
    temperature = _of_part(int, "mtmlGpuContext", "mtmlGpuGetTemperature")
    memory_busy = _of_part(int, "mtmlMemoryContext", "mtmlMemoryGetUtilization")
    memory_bus_width = _of_part(int, "mtmlMemoryContext", "mtmlMemoryGetBusWidth")
    encoder_busy = _of_part(lambda both: int(both.encUtil), "mtmlVpuContext", "mtmlVpuGetUtilization")
    decoder_busy = _of_part(lambda both: int(both.decUtil), "mtmlVpuContext", "mtmlVpuGetUtilization")
    ecc_enabled = _of_part(lambda modes: bool(modes[0]), "mtmlMemoryContext", "mtmlMemoryGetEccMode")

    def __init__(self, library: Any, place: int) -> None:
        self._library = library
        self._handle = library.mtmlLibraryInitDeviceByIndex(place)

    def memory(self) -> Memory:
        """Return the memory."""
        functions = "mtmlMemoryGetTotal", "mtmlMemoryGetUsed"
        return Memory(*(int(self._part("mtmlMemoryContext", each)) for each in functions))

    def fan_speed(self) -> int:
        """Return the first fan's speed."""
        if not self._device("mtmlDeviceCountFan"):
            return super().fan_speed()
        return int(self._device("mtmlDeviceGetFanSpeed", 0))

    def clock(self, clock: Clock) -> int:
        """Return a clock."""
        context, part = _PARTS[clock]
        return int(self._part(context, f"mtml{part}GetClock"))

    def max_clock(self, clock: Clock) -> int:
        """Return the highest value of a clock."""
        context, part = _PARTS[clock]
        return int(self._part(context, f"mtml{part}GetMaxClock"))

    def _device(self, function: str, *arguments: Any) -> Any:
        return _told(self._library, lambda mtml: getattr(mtml, function)(self._handle, *arguments))

    def _part(self, context: str, function: str) -> Any:
        def ask(mtml: Any) -> Any:
            opened: AbstractContextManager[Any] = getattr(mtml, context)(self._handle)
            with opened as part:
                return getattr(mtml, function)(part)

        return _told(self._library, ask)


_PARTS = {
    Clock.COMPUTE: ("mtmlGpuContext", "Gpu"),
    Clock.MEMORY: ("mtmlMemoryContext", "Memory"),
    Clock.VIDEO: ("mtmlVpuContext", "Vpu"),
}


def _told(library: Any, ask: Callable[[Any], Any]) -> Any:
    try:
        return ask(library)
    except library.MTMLError as error:
        raise UnknownReadingError(f"MTML: {error}") from error
