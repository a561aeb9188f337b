"""Google's readings, from libtpu's monitoring library; the chips and their processes are the kernel's."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Collection, Sequence
from typing import Any

import torch

from morph.aliases.sensors.listing import derived_uuid
from morph.aliases.sensors.origin import Source, visible
from morph.aliases.sensors.reading import Device, Memory, PciAddress, Process, UnknownReadingError
from morph.aliases.sensors.torch_device import TorchSource
from morph.backends.tables import table
from morph.base.hardware import pci_devices

_ABSENT = "libtpu.sdk is not found; it comes with libtpu 0.0.11 and newer"
_PROCESSES = pathlib.Path("/proc")


def open_source() -> Source:
    """Return the source: libtpu's monitoring library, or torch_tpu where it or the PCI bus is not seen."""
    folders = pci_devices(table.facts("tpu").pci_devices)
    if not folders:
        return TorchSource("torch_tpu", "no TPU is on the PCI bus that this process sees")
    try:
        library: Any = importlib.import_module("libtpu.sdk").tpumonitoring
    except ImportError:
        return TorchSource("torch_tpu", _ABSENT)
    return Libtpu(library, folders)


class Libtpu(Source):
    """libtpu's monitoring library.

    It reports the chips of running programs only:
    https://docs.cloud.google.com/tpu/docs/tpu-monitoring-library

    Args:
        library: The module ``libtpu.sdk.tpumonitoring``.
        folders: The kernel's folders of the chips; of TPU v7, those of a chip's two devices.
    """

    title = "libtpu"
    why_unknown = "libtpu does not report it"

    def __init__(self, library: Any, folders: Sequence[pathlib.Path]) -> None:
        self.library = library
        self._folders = sorted(folders, key=_group)

    def devices(self) -> Sequence[Device]:
        """Return the host's TPUs, in the order of their files in ``/dev/vfio``."""
        return [Tpu(self.library, place, folder) for place, folder in enumerate(self._folders)]

    def position(self, index: int) -> int:
        """Return the position of the TPU with torch's index ``index``."""
        return visible(index)


class Tpu(Device):
    """One TPU.

    Args:
        library: The module ``libtpu.sdk.tpumonitoring``.
        place: Its position on the host.
        folder: The kernel's folder of it.
    """

    why_unknown = Libtpu.why_unknown
    draws = False

    def __init__(self, library: Any, place: int, folder: pathlib.Path) -> None:
        self._library = library
        self._place = place
        self._folder = folder

    def name(self) -> str:
        """Return the name that torch_tpu reports, of this process's TPU: a host has one kind."""
        return str(torch.cuda.get_device_name())

    def uuid(self) -> str:
        """Return a UUID derived from the host name and the PCI address, since libtpu has none."""
        return derived_uuid(self._folder.name)

    def pci(self) -> PciAddress:
        """Return the address on the PCI bus."""
        return PciAddress.parse(self._folder.name)

    def busy(self) -> int:
        """Return the percentage of time in which the TPU computed."""
        return round(self._figure("duty_cycle_pct", "utilization"))

    def memory(self) -> Memory:
        """Return the memory that running programs have."""
        total, used = (self._figure(f"hbm_capacity_{part}", "memory") for part in ("total", "usage"))
        return Memory(int(total), int(used))

    def processes(self) -> list[Process]:
        """Return the processes that have the TPU's file open, as far as this user may see them."""
        files = {f"/dev/accel{self._place}", f"/dev/vfio/{_group(self._folder)[0]}"}
        return [Process(pid, None) for pid in _holders(files)]

    def _figure(self, metric: str, what: str) -> float:
        try:
            figures = self._library.get_metric(metric).data()
        except RuntimeError as error:  # as pybind11 raises what C++ does
            raise UnknownReadingError(f"{what}: libtpu: {error}") from error
        if self._place >= len(figures):
            raise self.unknown(f"{what} of a TPU without a running program")
        return float(figures[self._place])


def _group(folder: pathlib.Path) -> tuple[int, str]:
    """Return the number of the chip's file in ``/dev/vfio``, by which libtpu orders them; -1 without one."""
    group = folder / "iommu_group"
    return int(group.resolve().name) if group.exists() else -1, folder.name


def _holders(files: Collection[str]) -> list[int]:
    found = set()
    for descriptor in _PROCESSES.glob("[0-9]*/fd/*"):
        try:
            opened = str(descriptor.readlink())
        except OSError:  # it has ended, or is another user's
            continue
        if opened in files:
            found.add(int(descriptor.parent.parent.name))
    return sorted(found)
