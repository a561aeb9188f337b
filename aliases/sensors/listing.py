"""Devices as a vendor's tool lists them, one row of its table each."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from morph.aliases.sensors.origin import Source, visible
from morph.aliases.sensors.reading import Device, Memory, PciAddress, Process
from morph.aliases.sensors.tool import Tool

Value = TypeVar("Value")
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


def cell(kind: Callable[[Any], Value], column: str) -> Callable[[ListedDevice], Value]:
    """Return the method of a reading that is in a column of the table."""
    return lambda device: kind(getattr(device._row, column))


def derived_uuid(place: object) -> str:
    """Return a UUID derived from the host's name and a device's place in it, such as its PCI address."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{platform.node()}/{place}"))


class ListedDevice(Device):
    """A device in a tool's table, whose rows have ``bus_id``, ``used``, ``total``, ``processes`` and more."""

    draws = False
    busy = cell(int, "busy")
    temperature = cell(int, "temperature")

    def __init__(self, source: Listing, place: int) -> None:
        self._source = source
        self._place = place

    @property
    def _row(self) -> Any:
        return self._source.rows()[self._place]

    def uuid(self) -> str:
        """Return a UUID derived from the host name and the PCI address, since the tool prints none."""
        return derived_uuid(self._row.bus_id or self._row.number)

    def pci(self) -> PciAddress:
        """Return the address on the PCI bus."""
        bus_id = self._row.bus_id
        return PciAddress.parse(bus_id) if bus_id else super().pci()

    def memory(self) -> Memory:
        """Return the device memory in use by all processes."""
        return Memory(self._row.total * _MEBIBYTE, self._row.used * _MEBIBYTE)

    def processes(self) -> list[Process]:
        """Return the processes on the device."""
        return [Process(pid, used * _MEBIBYTE) for pid, used in self._row.processes]
