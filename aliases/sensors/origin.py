"""The source of readings for a backend's devices: a vendor's library or tool, or torch."""

from __future__ import annotations

import os
from collections.abc import Sequence

from morph import backends
from morph.aliases.sensors.reading import Device, UnknownReadingError


class Source:
    """The source of readings for a backend's devices.

    Attributes:
        title: The library or tool.
    """

    title = ""
    why_unknown = "the platform does not report it"

    def devices(self) -> Sequence[Device]:
        """Return the machine's devices in the platform's order, including those hidden from torch."""
        raise NotImplementedError

    def driver_version(self) -> str:
        """Return the driver's version."""
        raise UnknownReadingError(f"version of the driver: {self.why_unknown}")

    def runtime_version(self) -> int:
        """Return the version of the vendor's equivalent of CUDA, as ``1000 * major + 10 * minor``."""
        raise UnknownReadingError(f"version of the runtime: {self.why_unknown}")

    def position(self, index: int) -> int:
        """Return the position in ``devices`` of the device with torch's index ``index``."""
        return index


def visible(index: int) -> int:
    """Return the platform's number of the device with torch's index ``index``, which a mask may change."""
    backend = backends.active()
    mask = os.environ.get(backend.table.facts.visible_devices, "") if backend else ""
    numbers = [int(part) for part in mask.split(",") if part.strip().isdigit()]
    return numbers[index] if index < len(numbers) else index
