"""The readings of a software device on the CPU, from psutil and the kernel."""

from __future__ import annotations

import pathlib
import re
import time
from collections.abc import Callable
from typing import Any

from morph.aliases.sensors.powercap import SAMPLE, Powercap
from morph.aliases.sensors.reading import Clock, Device, Memory, PciAddress, Process, UnknownReadingError
from morph.base.importing import own_imports
from morph.software import properties
from morph.software.machine import started

with own_imports:
    import psutil

# The kernel's names for processor sensors: Intel, AMD, Arm
_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
# A segment of a software device's memory in a process, with the device's number
_MEMORY = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*/memfd:software device (\d+) ", re.MULTILINE)


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


class Counts:
    """What the machine's devices keep between two calls."""

    def __init__(self) -> None:
        self.powercap = Powercap()
        self.watched: dict[int, dict[int, psutil.Process]] = {}
        self.loads: dict[int, Load] = {}


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
        counts: The machine's.
        number: The device's number on the machine.
        shared: Whether other software devices share the processor, so that its power is not this device's.
    """

    why_unknown = "a CPU has none"
    draws = False
    temperature = _thermal("current", "temperature")  # of the processor's package
    temperature_limit = _thermal("high", "limit of the temperature")
    shutdown_temperature = _thermal("critical", "temperature of switching off")

    def __init__(self, counts: Counts, number: int, *, shared: bool = False) -> None:
        self._counts = counts
        self._number = number
        self._shared = shared
        counts.loads.setdefault(number, Load())

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
        """Return what torch reports."""
        return isinstance(other, Processor) and started().reaches(self._number, other._number)

    def memory(self) -> Memory:
        """Return the memory that torch reports, with the use by all processes."""
        used = sum(each.memory or 0 for each in self.processes())
        return Memory(started().memory, min(used, started().memory))

    def busy(self) -> int:
        """Return the percentage of time in which the cores were busy since the last call."""
        return self._counts.loads[self._number].percent()

    def processes_busy(self) -> dict[int, int]:
        """Return the share of all cores that each process on the device used since the last call."""
        watched = self._counts.watched.get(self._number, {})
        pids = {process.pid for process in self.processes()}
        new = {pid: psutil.Process(pid) for pid in pids - watched.keys() if psutil.pid_exists(pid)}
        watched = {pid: each for pid, each in {**watched, **new}.items() if pid in pids}
        self._counts.watched[self._number] = watched
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
        return self._counts.powercap

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
