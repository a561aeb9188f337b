"""The CPU's readings, from psutil."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence

import psutil

from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import Clock, Process, UnknownReadingError
from morph.aliases.sensors.torch_device import TorchDevice

# The kernel's names of the sensors in processors: Intel, AMD, Arm
_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
# What a process that computes with torch has loaded
_LIBRARY = "libtorch_cpu"
_POWERCAP = pathlib.Path("/sys/class/powercap")


def open_source() -> Source:
    """Return the source."""
    return Host()


class Host(Source):
    """The machine, whose one device is the processor."""

    title = "psutil"
    why_unknown = "a CPU has none"

    def devices(self) -> Sequence[Processor]:
        """Return the processor."""
        return [Processor(0, self.why_unknown)]


class Processor(TorchDevice):
    """The processor, all its cores together, and the host's memory."""

    def busy(self) -> int:
        """Return the percentage of time that the cores were busy since the last call."""
        return round(psutil.cpu_percent())

    def temperature(self) -> int:
        """Return the temperature of the processor's package."""
        sensors = psutil.sensors_temperatures() if hasattr(psutil, "sensors_temperatures") else {}
        for name in _SENSORS:
            if sensors.get(name):
                return round(sensors[name][0].current)
        raise UnknownReadingError("temperature: the system shows no sensor of the processor")

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
        """Raise: the kernel counts energy, and a process without root's rights may not read it."""
        raise UnknownReadingError("power: the processor's takes root's rights to read")

    def energy(self) -> int:
        """Return the energy of all packages, where this process may read it."""
        counters = sorted(_POWERCAP.glob("intel-rapl:[0-9]/energy_uj"))
        if not counters or not all(os.access(counter, os.R_OK) for counter in counters):
            raise UnknownReadingError("energy: the processor's takes root's rights to read, and a counter")
        return sum(int(counter.read_text()) for counter in counters) // 1000

    def numa_node(self) -> int:
        """Return -1: the processor is all nodes."""
        return -1

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
