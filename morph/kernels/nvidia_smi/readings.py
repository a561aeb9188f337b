"""The readings of a device for nvidia-smi, from its sensors; what they do not report is N/A."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import Clock, Device, Memory, Process, UnknownReadingError
from morph.kernels.nvidia_smi.machine import capability

MIB = 1 << 20
Value = str | int | float | None


@dataclass(frozen=True)
class Subject:
    """A device, and for some fields one of its processes.

    Attributes:
        source: Where the readings come from.
        index: The device's index, which no mask changes.
        device: Its sensors.
        process: The process.
    """

    source: Source
    index: int
    device: Device
    process: Process | None = None

    @functools.cached_property
    def memory(self) -> Memory:
        """Its memory, read once, so that the parts make up the whole."""
        return self.device.memory()

    def read(self, reading: str) -> Value:
        """Return a reading by its name; None if the platform does not report it."""
        try:
            return _READINGS[reading](self) if reading in _READINGS else self._of_device(reading)
        except UnknownReadingError:
            return None

    def _of_device(self, reading: str) -> Value:
        value: Value = getattr(self.device, reading)() if reading else None
        return value

    def processes(self) -> list[Process] | None:
        """Return the device's processes, or None if the platform does not report them."""
        try:
            return list(self.device.processes())
        except UnknownReadingError:
            return None


def subjects(source: Source) -> list[Subject]:
    """Return the machine's devices, including those that a mask hides from torch."""
    return [Subject(source, index, device) for index, device in enumerate(source.devices())]


def runtime_version(source: Source) -> str | None:
    """Return the version of CUDA, or of the vendor's equivalent, or None."""
    try:
        version = source.runtime_version()
    except UnknownReadingError:
        return None
    return f"{version // 1000}.{version % 1000 // 10}"


def driver_version(source: Source) -> str:
    """Return the driver's version, or "N/A"."""
    try:
        return source.driver_version()
    except UnknownReadingError:
        return "N/A"


def _of(read: Callable[[Device], Value]) -> Callable[[Subject], Value]:
    return lambda subject: read(subject.device)


def _or(read: Callable[[Device], Value], other: Value) -> Callable[[Subject], Value]:
    """Return the reading, which is ``other`` where the platform does not report it."""

    def found(subject: Subject) -> Value:
        try:
            return read(subject.device)
        except UnknownReadingError:
            return other

    return found


def _brand(device: Device) -> Value:
    return _BRANDS[device.brand()]


def _architecture(device: Device) -> Value:
    return _ARCHITECTURES.get(device.architecture()) or str(device.architecture()).title()


def _constant(value: str) -> Callable[[Subject], Value]:
    return lambda subject: value


def _timestamp(_: Subject) -> str:
    now = time.time()
    return f"{time.strftime('%Y/%m/%d %H:%M:%S', time.localtime(now))}.{int(now * 1000) % 1000:03}"


def _bus_id(device: Device) -> str:
    place = device.pci()
    return f"{place.domain:08X}:{place.bus:02X}:{place.device:02X}.{place.function:X}"


def _power_management(device: Device) -> str:
    try:
        device.power()
    except UnknownReadingError:
        return "N/A"
    return "Enabled"


def _process_name(subject: Subject) -> Value:
    if subject.process is None:
        return None
    try:
        process = psutil.Process(subject.process.pid)
    except psutil.NoSuchProcess:
        return "[Not Found]"
    try:
        return process.exe() or process.name()
    except psutil.NoSuchProcess:
        return "[Not Found]"
    except psutil.AccessDenied:
        return "[Insufficient Permissions]"


def _process_memory(subject: Subject) -> Value:
    memory = None if subject.process is None else subject.process.memory
    return None if memory is None else memory // MIB


_BRANDS = {"NVIDIA": "NVIDIA", "TESLA": "Tesla", "GEFORCE": "GeForce"}  # as nvidia-smi writes them
_ARCHITECTURES = {"ADA": "Ada Lovelace"}
_READINGS: dict[str, Callable[[Subject], Value]] = {
    "timestamp": _timestamp,
    "driver_version": lambda subject: subject.source.driver_version(),
    "count": lambda subject: len(subject.source.devices()),
    "index": lambda subject: subject.index,
    "uuid": _of(lambda device: f"GPU-{device.uuid()}"),
    "pci_bus_id": _of(_bus_id),
    "pci_domain": _of(lambda device: f"0x{device.pci().domain:04X}"),
    "pci_bus": _of(lambda device: f"0x{device.pci().bus:02X}"),
    "pci_device": _of(lambda device: f"0x{device.pci().device:02X}"),
    "pci_device_id": _of(lambda device: f"0x{device.pci_ids()[0]:08X}"),
    "pci_sub_device_id": _of(lambda device: f"0x{device.pci_ids()[1]:08X}"),
    "pcie_generation": _of(lambda device: device.pcie_link()[0]),
    "pcie_width": _of(lambda device: device.pcie_link()[1]),
    "pcie_generation_max": _of(lambda device: device.max_pcie_link()[0]),
    "pcie_width_max": _of(lambda device: device.max_pcie_link()[1]),
    "disabled": _constant("Disabled"),
    "enabled": _constant("Enabled"),
    "no": _constant("No"),
    "compute_mode": _constant("Default"),
    "performance_state": _or(lambda device: f"P{device.performance_state()}", "P0"),
    "brand": _or(_brand, "Unknown"),
    "architecture": _or(_architecture, "Unknown"),
    "mig_mode": _of(lambda device: "Enabled" if device.mig_enabled() else "Disabled"),
    "bar1_total": _of(lambda device: device.bar1().total // MIB),
    "bar1_used": _of(lambda device: device.bar1().used // MIB),
    "bar1_free": _of(lambda device: device.bar1().free // MIB),
    "compute_capability": lambda subject: capability(subject.index),
    "memory_total": lambda subject: subject.memory.total // MIB,
    "memory_used": lambda subject: subject.memory.used // MIB,
    "memory_free": lambda subject: subject.memory.free // MIB,
    "memory_reserved": lambda subject: 0,
    "ecc_mode": _of(lambda device: "Enabled" if device.ecc_enabled() else "Disabled"),
    "ecc_corrected": _of(lambda device: device.ecc_errors(corrected=True)),
    "ecc_uncorrected": _of(lambda device: device.ecc_errors(corrected=False)),
    "power_management": _of(_power_management),
    "power": _of(lambda device: device.power() / 1000),
    "power_limit": _of(lambda device: device.power_limit() / 1000),
    "power_limit_default": _of(lambda device: device.default_power_limit() / 1000),
    "power_limit_min": _of(lambda device: device.power_limits()[0] / 1000),
    "power_limit_max": _of(lambda device: device.power_limits()[1] / 1000),
    "clock": _of(lambda device: device.clock(Clock.COMPUTE)),
    "memory_clock": _of(lambda device: device.clock(Clock.MEMORY)),
    "video_clock": _of(lambda device: device.clock(Clock.VIDEO)),
    "max_clock": _of(lambda device: device.max_clock(Clock.COMPUTE)),
    "max_memory_clock": _of(lambda device: device.max_clock(Clock.MEMORY)),
    "pid": lambda subject: None if subject.process is None else subject.process.pid,
    "process_name": _process_name,
    "process_memory": _process_memory,
}
