"""The readings of a software device that stands for a card: an idle board of that kind.

The facts are those of the card's profile. Memory, load and processes are measured, as on every software
device; nothing else changes with what a program does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from morph.aliases.sensors.processor import Processor
from morph.aliases.sensors.reading import Clock, Device, Links, Memory, PciAddress
from morph.base.importing import own_imports
from morph.software import properties
from morph.software.machine import started

if TYPE_CHECKING:
    from morph.software.cards import Card

with own_imports:
    import psutil


def _told(fact: str, convert: Callable[[Any], Any] = lambda value: value) -> Callable[[Board], Any]:
    """Return the method of a reading that is a fact of the profile."""

    def read(board: Board) -> Any:
        facts = board.card.board
        if fact not in facts:
            raise board.unknown(fact.replace("_", " "))
        return convert(facts[fact])

    return read


def _milliwatts(watts: int) -> int:
    return watts * 1000


class Board(Processor):
    """A software device with a profile."""

    why_unknown = "the profile of the card does not tell it"
    brand = _told("brand")
    architecture = _told("architecture")
    cores = _told("cores")
    pcie_link = _told("pcie_link", tuple)
    max_pcie_link = pcie_link
    bar1 = _told("bar1", lambda size: Memory(size, 0))
    performance_state = _told("performance_state")
    temperature = _told("temperature")
    temperature_limit = _told("temperature_limit")
    shutdown_temperature = _told("shutdown_temperature")
    fan_speed = _told("fan_speed")
    power = _told("power", _milliwatts)
    power_limit = _told("power_limit", _milliwatts)
    default_power_limit = power_limit
    power_limits = _told("power_limits", lambda limits: tuple(map(_milliwatts, limits)))
    ecc_enabled = _told("ecc_enabled")

    @property
    def card(self) -> Card:
        """The card that the devices stand for."""
        card = started().card
        assert card is not None
        return card

    def serial(self) -> str:
        """Return a number that says that there is no such board."""
        return f"simulated-{self._number}"

    def part_number(self) -> str:
        """Return the profile's name, and that there is no such board."""
        return f"simulated-{self.card.name}"

    def pci_ids(self) -> tuple[int, int]:
        """Return the card's PCI numbers, of the subsystem 0 where it is not known."""
        return self.card.board["pci_device"], self.card.board.get("pci_subsystem", 0)

    def pcie_throughput(self, *, sent: bool) -> int:
        """Return 0: nothing crosses a bus."""
        return 0

    def memory_bus_width(self) -> int:
        """Return the width that torch reports."""
        return properties.of_number(self._number).memory_bus_width

    def energy(self) -> int:
        """Return what an idle board has used since the machine was started."""
        return round(int(self.power()) * (time.time() - psutil.boot_time()))

    def clock(self, clock: Clock) -> int:
        """Return an idle board's clock; where no source has it, the processor's."""
        clocks = self.card.board.get("clocks")
        return int(clocks[clock.value]) if clocks else super().clock(clock)

    def max_clock(self, clock: Clock) -> int:
        """Return the clocks that torch reports."""
        found = properties.of_number(self._number)
        highest = {Clock.COMPUTE: found.clock_rate, Clock.MEMORY: found.memory_clock_rate}
        if clock not in highest:
            raise self.unknown(f"highest {clock.value} clock")
        return highest[clock] // 1000

    def ecc_errors(self, *, corrected: bool) -> int:
        """Return 0 where the memory corrects errors."""
        if not self.ecc_enabled():
            raise self.unknown("errors of the memory")
        return 0

    def mig_enabled(self) -> bool:
        """Return False: no device is divided."""
        if "mig_enabled" not in self.card.board:
            raise self.error(f"division into instances: {self.name()} cannot be divided")
        return bool(self.card.board["mig_enabled"])

    def links(self) -> Links:
        """Return the card's NVLink, each link to a switch that all devices share."""
        if not self.card.nvlink:
            raise self.error(f"NVLink: {self.name()} has none")
        facts = dict(self.card.nvlink)
        bus = started().total  # the first without a device
        places = tuple(PciAddress(0, bus + number, 0) for number in range(facts.pop("switches")))
        return Links(**facts, switches=places)

    def linked(self, other: Device) -> bool:
        """Return whether it is another device, where the card has NVLink."""
        return bool(self.card.nvlink) and self.reaches(other)
