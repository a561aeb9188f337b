"""The host's accelerators, by their drivers' files and the PCI bus, without any vendor's package."""

from __future__ import annotations

import glob
import pathlib
from collections.abc import Iterable

PCI = pathlib.Path("/sys/bus/pci/devices")
"""The kernel's folders of the devices on the PCI bus, by their addresses."""


def pci_devices(ids: Iterable[str]) -> list[pathlib.Path]:
    """Return the kernel's folders of the PCI devices with these ids, by address.

    Args:
        ids: The vendor's and the device's numbers, ``"1ae0:0063"``.
    """
    wanted = set(ids)
    return sorted(folder for folder in PCI.glob("*") if wanted and _id(folder) in wanted)


def present(files: Iterable[str], ids: Iterable[str]) -> list[str]:
    """Return the driver's files and the PCI devices that the host has.

    Args:
        files: Patterns of the files that the driver creates.
        ids: As ``pci_devices`` takes them.
    """
    found = [file for pattern in files for file in sorted(glob.glob(pattern))]
    return found + [f"the PCI device {folder.name}" for folder in pci_devices(ids)]


def _id(folder: pathlib.Path) -> str:
    try:
        numbers = [int((folder / part).read_text(), 0) for part in ("vendor", "device")]
    except (OSError, ValueError):  # a device that is being removed, or a kernel that shows none
        return ""
    return ":".join(f"{number:04x}" for number in numbers)
