"""The readings of a device, and the error for those that its platform cannot report."""

from __future__ import annotations

import enum
import pathlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from morph.base.errors import MorphError

_PCI = pathlib.Path("/sys/bus/pci/devices")


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

    def unknown(self, what: str) -> UnknownReadingError:
        """Return the error for the unavailable reading ``what``, with the reason."""
        return self.error(f"{what}: {self.why_unknown}")

    def name(self) -> str:
        """Return the product's name."""
        raise self.unknown("name")

    def uuid(self) -> str:
        """Return the device's identifier, as 32 hexadecimal digits in five groups."""
        raise self.unknown("UUID")

    def serial(self) -> str:
        """Return the board's serial number."""
        raise self.unknown("serial number")

    def firmware(self) -> str:
        """Return the version of the board's firmware."""
        raise self.unknown("firmware")

    def pci(self) -> PciAddress:
        """Return the address on the PCI bus."""
        raise self.unknown("PCI address")

    def pci_ids(self) -> tuple[int, int]:
        """Return PCI device and vendor number combined (``device << 16 | vendor``), and the subsystem's."""
        device, vendor = self._system("device"), self._system("vendor")
        return device << 16 | vendor, self._system("subsystem_device") << 16 | self._system(
            "subsystem_vendor"
        )

    def pci_folder(self) -> pathlib.Path:
        """Return the kernel's folder for the PCI device."""
        place = self.pci()
        return _PCI / f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.{place.function:x}"

    def pcie_link(self) -> tuple[int, int]:
        """Return the current generation and width of the PCIe link."""
        raise self.unknown("PCIe link")

    def max_pcie_link(self) -> tuple[int, int]:
        """Return the highest generation and width of the PCIe link."""
        raise self.unknown("PCIe link")

    def pcie_throughput(self, *, sent: bool) -> int:
        """Return the kibibytes per second that the device sends or receives over PCIe."""
        raise self.unknown("traffic over PCIe")

    def numa_node(self) -> int:
        """Return the device's NUMA node; -1 on a machine without NUMA nodes."""
        return self._system("numa_node")

    def cores(self) -> int:
        """Return the number of cores, as the vendor counts them."""
        raise self.unknown("number of cores")

    def memory(self) -> Memory:
        """Return the memory."""
        raise self.unknown("memory")

    def memory_bus_width(self) -> int:
        """Return the width of the memory bus in bits."""
        raise self.unknown("width of the memory bus")

    def busy(self) -> int:
        """Return the percentage of time in which the compute cores were busy."""
        raise self.unknown("utilization")

    def memory_busy(self) -> int:
        """Return the percentage of time in which the memory was read or written."""
        raise self.unknown("utilization of the memory")

    def encoder_busy(self) -> int:
        """Return the percentage of time in which the video encoder was busy."""
        raise self.unknown("utilization of the encoder")

    def decoder_busy(self) -> int:
        """Return the percentage of time in which the video decoder was busy."""
        raise self.unknown("utilization of the decoder")

    def temperature(self) -> int:
        """Return the chip's temperature in degrees Celsius."""
        raise self.unknown("temperature")

    def temperature_limit(self) -> int:
        """Return the temperature at which the chip is throttled, in degrees Celsius."""
        raise self.unknown("limit of the temperature")

    def shutdown_temperature(self) -> int:
        """Return the temperature at which the chip shuts down, in degrees Celsius."""
        raise self.unknown("temperature of switching off")

    def fan_speed(self) -> int:
        """Return the fan's speed as a percentage of its highest."""
        raise self.unknown("speed of the fan")

    def power(self) -> int:
        """Return the power drawn in milliwatts."""
        raise self.unknown("power")

    def power_limit(self) -> int:
        """Return the power limit in milliwatts."""
        raise self.unknown("limit of the power")

    def power_limits(self) -> tuple[int, int]:
        """Return the lowest and the highest power limit that can be set, in milliwatts."""
        raise self.unknown("range of the power's limit")

    def energy(self) -> int:
        """Return the energy used since the driver was loaded, in millijoules."""
        raise self.unknown("energy")

    def clock(self, clock: Clock) -> int:
        """Return a clock in megahertz."""
        raise self.unknown(f"{clock.value} clock")

    def max_clock(self, clock: Clock) -> int:
        """Return the highest value of a clock in megahertz."""
        raise self.unknown(f"highest {clock.value} clock")

    def processes(self) -> Sequence[Process]:
        """Return the processes that use the device."""
        raise self.unknown("processes")

    def processes_busy(self) -> Mapping[int, int]:
        """Return each process's percentage of the device's time since the last call, by process number."""
        raise self.unknown("utilization by process")

    def _system(self, fact: str) -> int:
        """Return an attribute that the kernel reports for the PCI device."""
        file = self.pci_folder() / fact
        if not file.exists():
            raise UnknownReadingError(f"{fact}: the system does not report it for {file.parent.name}")
        return int(file.read_text(), 0)

    def ecc_enabled(self) -> bool:
        """Return whether the memory corrects errors (ECC)."""
        raise self.unknown("error correction")

    def ecc_errors(self, *, corrected: bool) -> int:
        """Return the number of memory errors, ``corrected`` or not."""
        raise self.unknown("errors of the memory")
