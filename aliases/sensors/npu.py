"""Ascend's readings, from ``npu-smi`` where it is installed, else from torch_npu."""

from __future__ import annotations

import re

from morph.aliases.sensors import npu_smi
from morph.aliases.sensors.listing import ListedDevice, Listing
from morph.aliases.sensors.npu_smi import Chip
from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import Clock
from morph.aliases.sensors.tool import Tool
from morph.aliases.sensors.torch_device import TorchDevice, TorchSource
from morph.backends import vendor_module

_NO_TOOL = "npu-smi is not found; it comes with Ascend's driver"
_DOES_NOT_TELL = "npu-smi does not report it"
_CLOCKS = {Clock.COMPUTE: ("common", "Aicore curFreq(MHZ)"), Clock.MEMORY: ("memory", "HBM Clock Speed(MHz)")}


def open_source() -> Source:
    """Return the source: ``npu-smi``, or torch_npu."""
    tool = Tool("npu-smi")
    return NpuSmi(tool) if tool.installed else TorchNpu("torch_npu", _NO_TOOL, BusyTorchDevice)


class TorchNpu(TorchSource):
    """The readings of torch_npu, which reports the versions of the driver and of CANN."""

    def driver_version(self) -> str:
        """Return the driver's version."""
        return cann_version("DRIVER") or super().driver_version()

    def runtime_version(self) -> int:
        """Return CANN's version."""
        return runtime_version() or super().runtime_version()


class BusyTorchDevice(TorchDevice):
    """A device whose load torch_npu reports."""

    def busy(self) -> int:
        """Return the percentage of time in which the AI cores were busy."""
        ask = getattr(vendor_module(), "utilization", None)
        return int(ask(self.index)) if ask else super().busy()


def cann_version(part: str) -> str:
    """Return the version of CANN or a part such as ``"DRIVER"``; empty if torch_npu does not report it."""
    utils = getattr(vendor_module(), "utils", None)
    ask = getattr(utils, "get_cann_version", None)
    return str(ask(part)) if ask else ""


def runtime_version() -> int:
    """Return CANN's version as ``1000 * major + 10 * minor``; 0 if torch_npu does not report it."""
    found = re.match(r"(\d+)\.(\d+)", cann_version("CANN"))
    return 1000 * int(found[1]) + 10 * int(found[2]) if found else 0


class AscendChip(ListedDevice):
    """A chip in ``npu-smi``'s table."""

    why_unknown = _DOES_NOT_TELL
    _row: Chip

    def name(self) -> str:
        """Return the product's name."""
        name = self._row.name
        return name if name.startswith("Ascend") else f"Ascend {name}"

    def memory_busy(self) -> int:
        """Return the percentage of the memory's bandwidth that was in use."""
        return round(self._told("usages", "HBM Bandwidth Usage Rate(%)"))

    def power(self) -> int:
        """Return the power of the chip's board."""
        if self._row.power is None:
            raise self.unknown("power, which is that of the board and reported for its first chip")
        return round(self._row.power * 1000)

    def clock(self, clock: Clock) -> int:
        """Return the clock of the AI cores or of the memory."""
        if clock not in _CLOCKS:
            return super().clock(clock)
        return round(self._told(*_CLOCKS[clock]))

    def max_clock(self, clock: Clock) -> int:
        """Return the rated clock of the AI cores."""
        if clock is not Clock.COMPUTE:
            return super().max_clock(clock)
        return round(self._told("common", "Aicore Freq(MHZ)"))

    def cores(self) -> int:
        """Return the number of AI cores."""
        return round(self._told("common", "Aicore Count"))

    def _told(self, topic: str, key: str) -> float:
        chip = self._row
        text = self._source.tool.ask("info", "-t", topic, "-i", str(chip.npu), "-c", str(chip.chip))
        try:
            return float(npu_smi.pairs(text)[key])
        except (KeyError, ValueError):
            raise self.unknown(key) from None


class NpuSmi(Listing):
    """The readings that ``npu-smi`` prints."""

    title = "npu-smi"
    why_unknown = _DOES_NOT_TELL
    kind = AscendChip

    def driver_version(self) -> str:
        """Return the driver's version, from the table's header."""
        return npu_smi.version(self.tool.ask("info")) or super().driver_version()

    def runtime_version(self) -> int:
        """Return CANN's version."""
        return runtime_version() or super().runtime_version()

    def rows(self) -> list[Chip]:
        """Return the chips in the table of ``npu-smi info``."""
        return npu_smi.chips(self.tool.ask("info"))
