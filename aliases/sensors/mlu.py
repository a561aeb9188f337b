"""Cambricon's readings, from ``cnmon`` where it is installed, else from torch_mlu."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Sequence

from morph.aliases.sensors import cnmon
from morph.aliases.sensors.cnmon import Card
from morph.aliases.sensors.origin import Source, visible
from morph.aliases.sensors.reading import Device, Memory, PciAddress, Process
from morph.aliases.sensors.tool import Tool
from morph.aliases.sensors.torch_device import TorchSource

_MEBIBYTE = 1 << 20
_NO_TOOL = "cnmon is not found; it comes with Cambricon's driver"


def open_source() -> Source:
    """Return the source: ``cnmon``, or torch_mlu."""
    tool = Tool("cnmon")
    return CambriconMonitor(tool) if tool.installed else TorchSource("torch_mlu", _NO_TOOL)


class CambriconMonitor(Source):
    """The readings that ``cnmon`` prints.

    Args:
        tool: The tool.
    """

    title = "cnmon"
    why_unknown = "cnmon does not report it"

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def devices(self) -> Sequence[Device]:
        """Return the cards."""
        return [CambriconCard(self, place) for place in range(len(self.cards()))]

    def driver_version(self) -> str:
        """Return the driver's version, from the table's header."""
        return cnmon.driver_version(self.tool.ask()) or super().driver_version()

    def position(self, index: int) -> int:
        """Return the position of the device with torch_mlu's index ``index``."""
        return visible(index)

    def cards(self) -> list[Card]:
        """Return the cards in the table."""
        return cnmon.cards(self.tool.ask())


class CambriconCard(Device):
    """A card in ``cnmon``'s table."""

    why_unknown = "cnmon does not report it"
    draws = False

    def __init__(self, source: CambriconMonitor, place: int) -> None:
        self._source = source
        self._place = place

    @property
    def _card(self) -> Card:
        return self._source.cards()[self._place]

    def name(self) -> str:
        """Return the product's name."""
        return self._card.name

    def uuid(self) -> str:
        """Return a UUID derived from the host name and the card's PCI address, since cnmon prints none."""
        place = self._card.bus_id or self._card.number
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{platform.node()}/{place}"))

    def firmware(self) -> str:
        """Return the version of the firmware."""
        return self._card.firmware

    def pci(self) -> PciAddress:
        """Return the address on the PCI bus."""
        bus_id = self._card.bus_id
        return PciAddress.parse(bus_id) if bus_id else super().pci()

    def memory(self) -> Memory:
        """Return the device memory in use by all processes."""
        return Memory(self._card.total * _MEBIBYTE, self._card.used * _MEBIBYTE)

    def busy(self) -> int:
        """Return the percentage of time in which the cores were busy."""
        return self._card.busy

    def temperature(self) -> int:
        """Return the card's temperature."""
        return self._card.temperature

    def fan_speed(self) -> int:
        """Return the fan's speed."""
        fan = self._card.fan
        return super().fan_speed() if fan is None else fan

    def power(self) -> int:
        """Return the card's power."""
        return self._card.power * 1000

    def power_limit(self) -> int:
        """Return the card's power limit."""
        return self._card.limit * 1000

    def processes(self) -> Sequence[Process]:
        """Return the processes on the card."""
        return [Process(pid, used * _MEBIBYTE) for pid, used in self._card.processes]
