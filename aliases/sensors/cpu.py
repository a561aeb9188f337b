"""The CPU's readings, from psutil and the kernel."""

from __future__ import annotations

import os
import pathlib
import platform
import time
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.powercap import SAMPLE, Powercap
from morph.aliases.sensors.reading import Clock, Process, UnknownReadingError
from morph.aliases.sensors.torch_device import TorchDevice

# The kernel's names of the sensors in processors: Intel, AMD, Arm
_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
# What a process that computes with torch has loaded
_LIBRARY = "libtorch_cpu"


def open_source() -> Source:
    """Return the source."""
    return Host()


class Host(Source):
    """The machine, whose one device is the processor."""

    title = "psutil"
    why_unknown = "a CPU has none"

    def __init__(self) -> None:
        self.powercap = Powercap()
        self.watched: dict[int, psutil.Process] = {}

    def devices(self) -> Sequence[Processor]:
        """Return the processor."""
        return [Processor(self)]

    def driver_version(self) -> str:
        """Return the release of the kernel, which is what drives a processor."""
        return platform.release()


class Processor(TorchDevice):
    """The processor, all its cores together, and the host's memory.

    Args:
        host: Keeps what is counted from one call to the next.
    """

    error = UnknownReadingError
    draws = False

    def __init__(self, host: Host) -> None:
        super().__init__(0, host.why_unknown)
        self._host = host

    def busy(self) -> int:
        """Return the percentage of time that the cores were busy since the last call."""
        return round(psutil.cpu_percent())

    def processes_busy(self) -> Mapping[int, int]:
        """Return the share of all cores that each process that has loaded torch took since the last call."""
        watched = self._host.watched
        pids = {process.pid for process in self.processes()}
        new = {pid: psutil.Process(pid) for pid in pids - watched.keys() if psutil.pid_exists(pid)}
        self._host.watched = {pid: each for pid, each in {**watched, **new}.items() if pid in pids}
        if [_percent(each) for each in new.values()]:  # the first call begins to count
            time.sleep(SAMPLE)
        shares = {pid: _percent(each) for pid, each in self._host.watched.items()}
        cores = psutil.cpu_count() or 1
        return {pid: round(share / cores) for pid, share in shares.items() if share is not None}

    def temperature(self) -> int:
        """Return the temperature of the processor's package."""
        return self._thermal("current", "temperature")

    def temperature_limit(self) -> int:
        """Return the temperature at which the processor slows down."""
        return self._thermal("high", "limit of the temperature")

    def shutdown_temperature(self) -> int:
        """Return the temperature at which the machine switches itself off."""
        return self._thermal("critical", "temperature of switching off")

    def clock(self, clock: Clock) -> int:
        """Return the cores' clock."""
        return self._frequency(clock, "current")

    def max_clock(self, clock: Clock) -> int:
        """Return the cores' highest clock."""
        return self._frequency(clock, "max")

    def processes(self) -> Sequence[Process]:
        """Return the processes that have loaded torch, where this user may see it: their resident memory."""
        found = (_process(pid) for pid in psutil.pids() if _computes(pid))
        return [process for process in found if process is not None]

    def power(self) -> int:
        """Return the power of all packages since the last call, where this process may read their energy."""
        return self._host.powercap.power()

    def power_limit(self) -> int:
        """Return the limit of the power of all packages."""
        return self._host.powercap.limit()

    def energy(self) -> int:
        """Return the energy of all packages, where this process may read it."""
        return self._host.powercap.energy()

    def numa_node(self) -> int:
        """Return -1: the processor is all nodes."""
        return -1

    def _thermal(self, which: str, what: str) -> int:
        sensors = psutil.sensors_temperatures() if hasattr(psutil, "sensors_temperatures") else {}
        readings: list[Any] = next(filter(None, (sensors.get(name) for name in _SENSORS)), [])
        value: float | None = getattr(readings[0], which) if readings else None
        if value is None:
            raise UnknownReadingError(f"{what}: the system shows no sensor of the processor that tells it")
        return round(value)

    def _frequency(self, clock: Clock, which: str) -> int:
        frequency = psutil.cpu_freq() if clock is Clock.COMPUTE else None
        value = getattr(frequency, which, 0)
        if not value:
            raise UnknownReadingError(f"{which} {clock.value} clock: the system does not tell it")
        return round(value)


def _computes(pid: int) -> bool:
    maps = pathlib.Path(f"/proc/{pid}/maps")
    try:
        return _LIBRARY in maps.read_text(errors="replace")
    except OSError:  # it has ended, is another user's, or there is no /proc
        return pid == os.getpid()


def _process(pid: int) -> Process | None:
    try:
        return Process(pid, psutil.Process(pid).memory_info().rss)
    except psutil.Error:  # it has ended
        return None


def _percent(process: psutil.Process) -> float | None:
    """Return a process's percentage of one core since it was last asked; None of one that has ended."""
    try:
        return process.cpu_percent()
    except psutil.Error:
        return None
