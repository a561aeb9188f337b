"""The state of morph in a process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Status:
    """The state of morph in this process.

    Attributes:
        active: Whether CUDA names are served by a backend.
        backend: The backend's name; ``"cuda"`` where a working NVIDIA GPU needs no morph; None if inactive.
        device_type: torch's name of the device type that "cuda" means.
        simulated: Whether the simulated device stands in for the hardware.
        seam: ``"native"`` or ``"python"``: the kind of seam that makes CUDA a name of the device below
            Python; None where CUDA is the device's own name.
        seam_problem: Why the native seam could not be built, if the Python seam replaces it.
        noops: How often each name that does nothing on this backend was called.
        caught: How often each operator reached the seam with a CUDA device; on the software device, how often
            it ran there, counted only while an observer is called.
        skipped: What the installed torch or vendor has no place for, each with the reason. What it serves is
            as the vendor has it.
    """

    active: bool
    backend: str | None = None
    device_type: str | None = None
    simulated: bool = False
    seam: str | None = None
    seam_problem: str | None = None
    noops: dict[str, int] | None = None
    caught: dict[str, int] | None = None
    skipped: dict[str, str] | None = None

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print less in a notebook, below the cell that activates; ``print`` shows all of it."""
        found = f", backend={self.backend!r}, device_type={self.device_type!r}, ..." if self.active else ""
        printer.text(f"Status(active={self.active}{found})")
