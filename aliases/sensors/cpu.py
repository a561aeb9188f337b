"""The machine of morph's software devices on the CPU."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence

from morph.aliases.sensors.board import Board
from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.processor import Counts, Processor
from morph.software.machine import started
from morph.software.settings import DRIVER, TOOLKIT


def open_source() -> Source:
    """Return the source."""
    return Host()


class Host(Source):
    """The machine: morph's software devices, which share the processor."""

    title = "psutil"
    why_unknown = Processor.why_unknown
    toolkit = TOOLKIT

    def __init__(self) -> None:
        self.counts = Counts()

    def devices(self) -> Sequence[Processor]:
        """Return the software devices."""
        count = started().total
        return [_kind()(self.counts, number, shared=count > 1) for number in range(count)]

    def position(self, index: int) -> int:
        """Return the number of the device with torch's index ``index``."""
        return started().visible.indices()[index]

    def driver_version(self) -> str:
        """Return the kernel's release, as the processor's driver; of a card, NVIDIA's for ``TOOLKIT``."""
        return platform.release() if _kind() is Processor else DRIVER

    def runtime_version(self) -> int:
        """Return the version of CUDA that torch reports."""
        torch = sys.modules.get("torch")  # which a process that only reads need not import
        version = torch.version.cuda if torch else self.toolkit
        major, minor = map(int, str(version).split(".")[:2])
        return 1000 * major + 10 * minor


def _kind() -> type[Processor]:
    card = started().card
    return Board if card is not None and card.board else Processor
