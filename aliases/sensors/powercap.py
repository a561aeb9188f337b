"""The processor's power, from the kernel's energy counters and limits (RAPL)."""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Iterator

from morph.aliases.sensors.reading import UnknownReadingError

ZONES = pathlib.Path("/sys/class/powercap")
SAMPLE = 0.1
"""Seconds between two reads of the counter on its first use."""


class Powercap:
    """All packages of the processor together.

    Args:
        folder: The kernel's folder for the packages.
    """

    def __init__(self, folder: pathlib.Path = ZONES) -> None:
        self._folder = folder
        self._seen: tuple[float, list[int]] | None = None

    def energy(self) -> int:
        """Return the energy of all packages in millijoules, if this process may read it."""
        return sum(self._counters()) // 1000

    def power(self) -> int:
        """Return the mean power of all packages in milliwatts since the last call."""
        if self._seen is None:
            self._seen = time.monotonic(), self._counters()
            time.sleep(SAMPLE)
        (began, before), (ended, after) = self._seen, (time.monotonic(), self._counters())
        self._seen = ended, after
        grown = sum(map(self._growth, before, after, self._packages()))
        return round(grown / 1000 / (ended - began))

    def limit(self) -> int:
        """Return the sum of the packages' long-term limits in milliwatts."""
        limits = [each / "constraint_0_power_limit_uw" for each in self._packages()]
        if not limits or not all(os.access(file, os.R_OK) for file in limits):
            raise UnknownReadingError("limit of the power: the kernel reports none for the processor")
        return sum(int(file.read_text()) for file in limits) // 1000

    def _counters(self) -> list[int]:
        files = [each / "energy_uj" for each in self._packages()]
        if not files or not all(os.access(file, os.R_OK) for file in files):
            raise UnknownReadingError("energy: the processor's takes root's rights to read, and a counter")
        return [int(file.read_text()) for file in files]

    def _packages(self) -> Iterator[pathlib.Path]:
        yield from sorted(self._folder.glob("intel-rapl:[0-9]"))

    @staticmethod
    def _growth(before: int, after: int, package: pathlib.Path) -> int:
        """Return the growth of a package's counter, which wraps around at its maximum."""
        wrapped = 0 if after >= before else int((package / "max_energy_range_uj").read_text())
        return after - before + wrapped
