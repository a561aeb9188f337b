"""Devices as a vendor's tool lists them, one row of its table each."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Sequence
from typing import Any

from morph.aliases.sensors.origin import Source, visible
from morph.aliases.sensors.reading import Device, Memory, PciAddress, Process
from morph.aliases.sensors.tool import Tool

_MEBIBYTE = 1 << 20


class Listing(Source):
    """The readings that a tool prints.

    Attributes:
        kind: The class of the devices.

    Args:
        tool: The tool.
    """

    kind: type[ListedDevice]

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def rows(self) -> Sequence[Any]:
        """Return the rows of the tool's table, one for each device."""
        raise NotImplementedError

    def devices(self) -> Sequence[Device]:
        """Return the devices in the table."""
        return [self.kind(self, place) for place in range(len(self.rows()))]

    def position(self, index: int) -> int:
        """Return the position of the device with torch's index ``index``."""
        return visible(index)


class ListedDevice(Device):
    """A device in a tool's table, whose rows have ``bus_id``, ``used``, ``total``, ``processes`` and more."""

    draws = False

    def __init__(self, source: Listing, place: int) -> None:
        self._source = source
        self._place = place

    @property
    def _row(self) -> Any:
        return self._source.rows()[self._place]

    def uuid(self) -> str:
        """Return a UUID derived from the host name and the PCI address, since the tool prints none."""
        place = self._row.bus_id or self._row.number
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{platform.node()}/{place}"))

    def pci(self) -> PciAddress:
        """Return the address on the PCI bus."""
        bus_id = self._row.bus_id
        return PciAddress.parse(bus_id) if bus_id else super().pci()

    def memory(self) -> Memory:
        """Return the device memory in use by all processes."""
        return Memory(self._row.total * _MEBIBYTE, self._row.used * _MEBIBYTE)

    def busy(self) -> int:
        """Return the percentage of time in which the cores were busy."""
        return int(self._row.busy)

    def temperature(self) -> int:
        """Return the device's temperature."""
        return int(self._row.temperature)

    def processes(self) -> Sequence[Process]:
        """Return the processes on the device."""
        return [Process(pid, used * _MEBIBYTE) for pid, used in self._row.processes]
