"""What tensors hold of the host's memory: counted by the native seam, else what the process holds."""

from __future__ import annotations

import pathlib
import re
from typing import Protocol

import psutil

from morph.aliases.torch_cuda.refusal import lacks
from morph.seam import native


class Counts(Protocol):
    """A source of figures."""

    def memory(self) -> dict[str, int]:
        """Return the figures under the keys of ``torch.cuda.memory_stats``."""

    def reset_peak_memory(self) -> None:
        """Begin the peaks anew."""

    def reset_accumulated_memory(self) -> None:
        """Begin the totals anew."""

    def limit_memory(self, size: int, /) -> None:
        """Refuse to hold more than ``size`` bytes."""


class Process:
    """The figures of the whole process, where there is no native seam that counts."""

    def memory(self) -> dict[str, int]:
        """Return the memory that is resident now, and the most that was."""
        resident: int = psutil.Process().memory_info().rss
        return {
            "allocated_bytes.all.current": resident,
            "allocated_bytes.all.peak": max(resident, _highest_resident()),
        }

    def reset_peak_memory(self) -> None:
        """Begin the system's high-water mark of the process anew, where it can be (Linux)."""
        marks = pathlib.Path("/proc/self/clear_refs")
        if marks.exists():
            marks.write_text("5")  # the high-water mark and nothing else: proc(5)

    def reset_accumulated_memory(self) -> None:
        """Do nothing: there are no totals."""

    def limit_memory(self, size: int, /) -> None:
        """Refuse by name."""
        raise lacks(
            "torch.cuda.set_per_process_memory_fraction", "it takes the native seam, and so a compiler"
        )


def counts() -> Counts:
    """Return the source of figures."""
    return native.loaded or Process()


def _highest_resident() -> int:
    status = pathlib.Path("/proc/self/status")
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status.read_text(), re.MULTILINE) if status.exists() else None
    return int(found[1]) << 10 if found else 0
