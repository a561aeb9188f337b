"""Cambricon's readings, from ``cnmon`` where it is installed, else from torch_mlu."""

from __future__ import annotations

from morph.aliases.sensors import cnmon
from morph.aliases.sensors.cnmon import Card
from morph.aliases.sensors.listing import ListedDevice, Listing, cell
from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.tool import Tool
from morph.aliases.sensors.torch_device import TorchSource

_NO_TOOL = "cnmon is not found; it comes with Cambricon's driver"
_DOES_NOT_TELL = "cnmon does not report it"


def open_source() -> Source:
    """Return the source: ``cnmon``, or torch_mlu."""
    tool = Tool("cnmon")
    return CambriconMonitor(tool) if tool.installed else TorchSource("torch_mlu", _NO_TOOL)


def _milliwatts(watts: int) -> int:
    return watts * 1000


class CambriconCard(ListedDevice):
    """A card in ``cnmon``'s table."""

    why_unknown = _DOES_NOT_TELL
    name = cell(str, "name")
    firmware = cell(str, "firmware")
    power = cell(_milliwatts, "power")
    power_limit = cell(_milliwatts, "limit")
    _row: Card

    def fan_speed(self) -> int:
        """Return the fan's speed."""
        fan = self._row.fan
        return super().fan_speed() if fan is None else fan


class CambriconMonitor(Listing):
    """The readings that ``cnmon`` prints."""

    title = "cnmon"
    why_unknown = _DOES_NOT_TELL
    kind = CambriconCard

    def driver_version(self) -> str:
        """Return the driver's version, from the table's header."""
        return cnmon.driver_version(self.tool.ask()) or super().driver_version()

    def rows(self) -> list[Card]:
        """Return the cards in the table."""
        return cnmon.cards(self.tool.ask())
