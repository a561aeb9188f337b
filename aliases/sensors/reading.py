"""The readings of a device, and the error for those that its platform cannot report."""

from __future__ import annotations

import enum
import pathlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from morph.base.errors import MorphError
from morph.base.hardware import PCI

Value = TypeVar("Value")


class UnknownReadingError(MorphError):
    """The platform does not report a reading of a device."""


class AbsentLibraryError(UnknownReadingError):
    """The library for a reading is not installed, or finds no driver."""


class Clock(enum.Enum):
    """The unit that a clock drives."""

    COMPUTE = "compute"
    MEMORY = "memory"
    VIDEO = "video"


@dataclass(frozen=True, slots=True)
class Memory:
    """A device's memory in bytes."""

    total: int
    used: int

    @property
    def free(self) -> int:
        """The free memory in bytes."""
        return max(0, self.total - self.used)


@dataclass(frozen=True, slots=True)
class Process:
    """A process on a device.

    Attributes:
        pid: The process number.
        memory: The device memory that it uses, in bytes; None if not reported.
    """

    pid: int
    memory: int | None


@dataclass(frozen=True, slots=True)
class PciAddress:
    """An address on the PCI bus."""

    domain: int
    bus: int
    device: int
    function: int = 0

    @classmethod
    def parse(cls, text: str) -> PciAddress:
        """Read an address such as ``0000:C1:00.0``.

        >>> PciAddress.parse("0000:C1:00.0").bus
        193

        Raises:
            ValueError: If it is not a PCI address.
        """
        match = re.fullmatch(r"(?:([0-9a-fA-F]+):)?([0-9a-fA-F]+):([0-9a-fA-F]+)(?:\.([0-9a-fA-F]))?", text)
        if match is None:
            raise ValueError(f"{text!r} is no PCI address")
        return cls(*(int(part or "0", 16) for part in match.groups()))


@dataclass(frozen=True, slots=True)
class Links:
    """NVLink of a board.

    Attributes:
        version: NVIDIA's, ``"4.0"``.
        count: How many links it has.
        speed: Megabytes per second of each, in one direction.
        switches: The places of the switches that the links lead to, in turn.
        lacks: The capabilities that it lacks, as NVML spells them.
    """

    version: str
    count: int
    speed: int
    switches: tuple[PciAddress, ...]
    lacks: Sequence[str] = ()

    def remote(self, link: int) -> PciAddress:
        """Return the place of what a link leads to."""
        return self.switches[link % len(self.switches)]


def _absent(kind: Callable[..., Value], what: str) -> Callable[[Device], Value]:
    """Return the method of a reading that only some platforms report."""

    def read(device: Device) -> Value:
        raise device.unknown(what)

    return read


class Device:
    """One device. A reading that its platform does not report raises ``UnknownReadingError``.

    Attributes:
        why_unknown: Why the readings that are not overridden are missing, and what to install, in one clause.
        error: The class of that error.
        draws: Whether it may drive a display, and so have graphics processes.
    """

    why_unknown = "the platform does not report it"
    error: type[UnknownReadingError] = UnknownReadingError
    draws = True

    name = _absent(str, "name")
    uuid = _absent(str, "UUID")  # 32 hexadecimal digits in five groups
    serial = _absent(str, "serial number")  # of the board
    part_number = _absent(str, "part number")  # of the board
    firmware = _absent(str, "firmware")  # its version
    brand = _absent(str, "brand")  # NVIDIA's, as NVML spells it, and so the architecture
    architecture = _absent(str, "architecture")
    pci = _absent(PciAddress, "PCI address")
    pcie_link = _absent(tuple[int, int], "PCIe link")  # its generation and width, now
    max_pcie_link = _absent(tuple[int, int], "PCIe link")  # the highest of both
    cores = _absent(int, "number of cores")  # as the vendor counts them
    capability = _absent(tuple[int, int], "compute capability")  # where the vendor has CUDA's
    memory = _absent(Memory, "memory")
    bar1 = _absent(Memory, "memory that is mapped through BAR 1")
    memory_bus_width = _absent(int, "width of the memory bus")  # in bits
    busy = _absent(int, "utilization")  # percentage of time, as of the next three
    memory_busy = _absent(int, "utilization of the memory")
    encoder_busy = _absent(int, "utilization of the encoder")
    decoder_busy = _absent(int, "utilization of the decoder")
    performance_state = _absent(int, "performance state")  # from 0, the fastest
    temperature = _absent(int, "temperature")  # degrees Celsius, as of the next two
    temperature_limit = _absent(int, "limit of the temperature")  # at which the chip is throttled
    shutdown_temperature = _absent(int, "temperature of switching off")
    fan_speed = _absent(int, "speed of the fan")  # percentage of its highest
    power = _absent(int, "power")  # milliwatts, as of the next three
    power_limit = _absent(int, "limit of the power")
    default_power_limit = _absent(int, "default limit of the power")
    power_limits = _absent(tuple[int, int], "range of the power's limit")
    energy = _absent(int, "energy")  # since the driver was loaded, in millijoules
    processes = _absent(list[Process], "processes")
    processes_busy = _absent(dict[int, int], "utilization by process")  # percentages since the last call
    ecc_enabled = _absent(bool, "error correction")  # of the memory
    mig_enabled = _absent(bool, "division into instances")
    links = _absent(Links, "NVLink")

    def unknown(self, what: str) -> UnknownReadingError:
        """Return the error for the unavailable reading ``what``, with the reason."""
        return self.error(f"{what}: {self.why_unknown}")

    def pci_ids(self) -> tuple[int, int]:
        """Return PCI device and vendor number combined (``device << 16 | vendor``), and the subsystem's."""
        device, vendor = self._system("device"), self._system("vendor")
        return device << 16 | vendor, self._system("subsystem_device") << 16 | self._system(
            "subsystem_vendor"
        )

    def pci_folder(self) -> pathlib.Path:
        """Return the kernel's folder for the PCI device."""
        place = self.pci()
        return PCI / f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.{place.function:x}"

    def pcie_throughput(self, *, sent: bool) -> int:
        """Return the kibibytes per second that the device sends or receives over PCIe."""
        raise self.unknown("traffic over PCIe")

    def numa_node(self) -> int:
        """Return the device's NUMA node; -1 on a machine without NUMA nodes."""
        return self._system("numa_node")

    def reaches(self, other: Device) -> bool:
        """Return whether the device can access the memory of another."""
        raise self.unknown("access to other devices")

    def linked(self, other: Device) -> bool:
        """Return whether NVLink connects the device with another."""
        return False

    def clock(self, clock: Clock) -> int:
        """Return a clock in megahertz."""
        raise self.unknown(f"{clock.value} clock")

    def max_clock(self, clock: Clock) -> int:
        """Return the highest value of a clock in megahertz."""
        raise self.unknown(f"highest {clock.value} clock")

    def _system(self, fact: str) -> int:
        """Return an attribute that the kernel reports for the PCI device."""
        file = self.pci_folder() / fact
        if not file.exists():
            raise UnknownReadingError(f"{fact}: the system does not report it for {file.parent.name}")
        return int(file.read_text(), 0)

    def ecc_errors(self, *, corrected: bool) -> int:
        """Return the number of memory errors, ``corrected`` or not."""
        raise self.unknown("errors of the memory")
