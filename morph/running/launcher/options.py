"""The options of ``python -m morph``."""

from __future__ import annotations

import os
from typing import NamedTuple

from morph.base import variables
from morph.base.announcement import QUIET

ALL = "all"


class Options(NamedTuple):
    """morph's own options.

    Attributes:
        backend: The backend's name; None leaves the choice to morph.
        rehearse: The backend to simulate, or "all"; None runs on a real device.
        json: The file for the results of a rehearsal, of fit or of sanitize; None for none.
        report: The file for the CUDA names that a run uses; None for none.
        devices: The number of software devices, as written; None for the default.
        device_memory: The memory of each, as written; None for the default.
        device_profile: The card that they stand for; None for none.
        sanitize: What to check of kernels, as written; None for nothing.
        inject: The faults that are to happen, as written; None for none.
        fit: The card whose memory is to suffice, "1" for the devices' as it is; None for no report of it.
        quiet: Whether morph does not say at start what it has chosen.
    """

    backend: str | None = None
    rehearse: str | None = None
    json: str | None = None
    report: str | None = None
    devices: str | None = None
    device_memory: str | None = None
    device_profile: str | None = None
    sanitize: str | None = None
    inject: str | None = None
    fit: str | None = None
    quiet: bool = False

    def variables(self) -> dict[str, str | None]:
        """Return the environment variables that pass the options to child processes."""
        return {
            variables.BACKEND: self.backend,
            variables.REHEARSE: self.rehearse,
            variables.DEVICES: self.devices,
            variables.DEVICE_MEMORY: self.device_memory,
            variables.DEVICE_PROFILE: self.device_profile,
            variables.SANITIZE: self.sanitize,
            variables.SANITIZE_JSON: self._reports(),
            variables.INJECT: self.inject,
            variables.FIT: self.fit,
            QUIET: "1" if self.quiet else None,
        }

    def _reports(self) -> str | None:
        is_file = self.sanitize and self.json and self.json != "-"
        return os.path.abspath(str(self.json)) if is_file else self.json if self.sanitize else None

    def words(self) -> list[str]:
        """Return the words of a command line that set up the software device so, and quiet."""
        sizes = {
            "--devices": self.devices,
            "--device-memory": self.device_memory,
            "--device-profile": self.device_profile,
            "--sanitize": self.sanitize,
            "--inject": self.inject,
            "--fit": self.fit,
        }
        quiet = ["--quiet"] if self.quiet else []
        return quiet + [f"{name}={value}" for name, value in sizes.items() if value is not None]
