"""The readings of morph's software devices on the CPU, from psutil and the kernel."""

from __future__ import annotations

import pathlib
import platform
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.powercap import SAMPLE, Powercap
from morph.aliases.sensors.reading import Clock, Device, Memory, PciAddress, Process, UnknownReadingError
from morph.base.importing import own_imports
from morph.software import properties
from morph.software.machine import started
from morph.software.settings import TOOLKIT

with own_imports:
    import psutil

# The kernel's names for processor sensors: Intel, AMD, Arm
_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
# A segment of a software device's memory in a process, with the device's number
_MEMORY = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*/memfd:software device (\d+) ", re.MULTILINE)


def open_source() -> Source:
    """Return the source."""
    return Host()


class Host(Source):
    """The machine: morph's software devices, which share the processor."""

    title = "psutil"
    why_unknown = "a CPU has none"
    toolkit = TOOLKIT

    def __init__(self) -> None:
        self.powercap = Powercap()
        self.watched: dict[int, dict[int, psutil.Process]] = {}
        self.loads: dict[int, Load] = {}

    def devices(self) -> Sequence[Processor]:
        """Return the software devices."""
        count = started().total
        return [Processor(self, number, shared=count > 1) for number in range(count)]

    def position(self, index: int) -> int:
        """Return the number of the device with torch's index ``index``."""
        return started().visible.indices()[index]

    def driver_version(self) -> str:
        """Return the kernel's release: the kernel is the processor's driver."""
        return platform.release()

    def runtime_version(self) -> int:
        """Return the version of CUDA that torch reports."""
        torch = sys.modules.get("torch")  # which a process that only reads need not import
        version = torch.version.cuda if torch else self.toolkit
        major, minor = map(int, str(version).split(".")[:2])
        return 1000 * major + 10 * minor


class Load:
    """The share of time in which the cores are busy, between two calls."""

    def __init__(self) -> None:
        self._last: Any = None
        self._percent = 0

    def percent(self) -> int:
        """Return the percentage since the last call; the first call sleeps briefly."""
        if self._last is None:
            self._last = psutil.cpu_times()
            time.sleep(SAMPLE)
        now = psutil.cpu_times()
        total, idle = sum(now) - sum(self._last), _idle(now) - _idle(self._last)
        if total >= SAMPLE:  # the kernel counts in hundredths of a second
            self._last, self._percent = now, round(100 * min(1.0, max(0.0, 1 - idle / total)))
        return self._percent


def _thermal(which: str, what: str) -> Callable[[Processor], int]:
    """Return the method of a reading of the processor's sensor."""

    def read(_: Processor) -> int:
        sensors = psutil.sensors_temperatures() if hasattr(psutil, "sensors_temperatures") else {}
        readings: list[Any] = next(filter(None, (sensors.get(name) for name in _SENSORS)), [])
        value: float | None = getattr(readings[0], which) if readings else None
        if value is None:
            raise UnknownReadingError(f"{what}: the system has no sensor of the processor for it")
        return round(value)

    return read


class Processor(Device):
    """A software device: the processor with all its cores, and host memory.

    Args:
        host: The machine, which stores counts between calls.
        number: The device's number on the machine.
        shared: Whether other software devices share the processor, so that its power is not this device's.
    """

    why_unknown = Host.why_unknown
    draws = False
    temperature = _thermal("current", "temperature")  # of the processor's package
    temperature_limit = _thermal("high", "limit of the temperature")
    shutdown_temperature = _thermal("critical", "temperature of switching off")

    def __init__(self, host: Host, number: int, *, shared: bool = False) -> None:
        self._host = host
        self._number = number
        self._shared = shared
        host.loads.setdefault(number, Load())

    def name(self) -> str:
        """Return the name that torch reports."""
        return properties.of_number(self._number).name

    def uuid(self) -> str:
        """Return the UUID that torch reports."""
        return str(properties.of_number(self._number).uuid)

    def pci(self) -> PciAddress:
        """Return the PCI address that torch reports, with the device's number as bus number."""
        info = properties.of_number(self._number)
        return PciAddress(info.pci_domain_id, info.pci_bus_id, info.pci_device_id)

    def pci_ids(self) -> tuple[int, int]:
        """Return 0 for both: a software device has no PCI vendor number."""
        return 0, 0

    def cores(self) -> int:
        """Return the number of multiprocessors that torch reports."""
        return properties.of_number(self._number).multi_processor_count

    def capability(self) -> tuple[int, int]:
        """Return the compute capability that torch reports."""
        info = properties.of_number(self._number)
        return info.major, info.minor

    def reaches(self, other: Device) -> bool:
        """Return whether it is another device: all are host memory."""
        return isinstance(other, Processor) and self._number != other._number

    def memory(self) -> Memory:
        """Return the memory that torch reports, with the use by all processes."""
        used = sum(each.memory or 0 for each in self.processes())
        return Memory(started().memory, min(used, started().memory))

    def busy(self) -> int:
        """Return the percentage of time in which the cores were busy since the last call."""
        return self._host.loads[self._number].percent()

    def processes_busy(self) -> dict[int, int]:
        """Return the share of all cores that each process on the device used since the last call."""
        watched = self._host.watched.get(self._number, {})
        pids = {process.pid for process in self.processes()}
        new = {pid: psutil.Process(pid) for pid in pids - watched.keys() if psutil.pid_exists(pid)}
        watched = {pid: each for pid, each in {**watched, **new}.items() if pid in pids}
        self._host.watched[self._number] = watched
        if [_percent(each) for each in new.values()]:  # the first call starts the counting
            time.sleep(SAMPLE)
        shares = {pid: _percent(each) for pid, each in watched.items()}
        cores = psutil.cpu_count() or 1
        return {pid: round(share / cores) for pid, share in shares.items() if share is not None}

    def clock(self, clock: Clock) -> int:
        """Return the cores' clock."""
        return self._frequency(clock, "current")

    def max_clock(self, clock: Clock) -> int:
        """Return the cores' highest clock."""
        return self._frequency(clock, "max")

    def processes(self) -> list[Process]:
        """Return the processes that use the device's memory, as far as this user may see them."""
        held = ((pid, _held(pid, self._number)) for pid in psutil.pids())
        return [Process(pid, bytes_) for pid, bytes_ in held if bytes_]

    def power(self) -> int:
        """Return the power of all packages since the last call, where this process may read their energy."""
        return self._undivided("power").power()

    def power_limit(self) -> int:
        """Return the power limit of all packages."""
        return self._undivided("limit of the power").limit()

    def energy(self) -> int:
        """Return the energy of all packages, where this process may read it."""
        return self._undivided("energy").energy()

    def numa_node(self) -> int:
        """Return -1: the processor spans all nodes."""
        return -1

    def _undivided(self, what: str) -> Powercap:
        if self._shared:
            raise UnknownReadingError(f"{what}: the devices share one processor")
        return self._host.powercap

    def _frequency(self, clock: Clock, which: str) -> int:
        frequency = psutil.cpu_freq() if clock is Clock.COMPUTE else None
        value = getattr(frequency, which, 0)
        if not value:
            raise UnknownReadingError(f"{which} {clock.value} clock: the system does not report it")
        return round(value)


def _held(pid: int, number: int) -> int:
    """Return the bytes of a software device's memory that a process has mapped."""
    maps = pathlib.Path(f"/proc/{pid}/maps")
    try:
        found = _MEMORY.findall(maps.read_text(errors="replace"))
    except OSError:  # it has ended, is another user's, or there is no /proc
        return 0
    return sum(int(end, 16) - int(start, 16) for start, end, name in found if int(name) == number)


def _idle(times: Any) -> float:
    """Return the seconds in which the cores were idle or waited for I/O."""
    return float(times.idle + getattr(times, "iowait", 0.0))


def _percent(process: psutil.Process) -> float | None:
    """Return a process's percentage of one core since the last query; None if the process has ended."""
    try:
        return process.cpu_percent()
    except psutil.Error:
        return None
