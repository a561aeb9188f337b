"""The functions that report one reading of a device, and those that are another under a version's name."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

from morph.aliases.sensors.reading import Device, UnknownReadingError

from . import identity, processes, readings, system
from .constants import CONSTANTS
from .declared import recorded
from .library import of_device
from .structures import STRUCTURES

_READINGS = {
    "nvmlDeviceGetName": ("name", "the product's name"),
    "nvmlDeviceGetSerial": ("serial", "the board's serial number"),
    "nvmlDeviceGetBoardPartNumber": ("part_number", "the board's part number"),
    "nvmlDeviceGetVbiosVersion": ("firmware", "the version of the board's firmware"),
    "nvmlDeviceGetNumGpuCores": ("cores", "the number of cores, as the vendor counts them"),
    "nvmlDeviceGetNumaNodeId": ("numa_node", "the NUMA node of the device"),
    "nvmlDeviceGetMemoryBusWidth": ("memory_bus_width", "the width of the memory's bus in bits"),
    "nvmlDeviceGetFanSpeed": ("fan_speed", "the fan's speed as a percentage of its highest"),
    "nvmlDeviceGetPowerState": ("performance_state", "the performance state, from 0, the fastest"),
    "nvmlDeviceGetPerformanceState": ("performance_state", "the performance state, from 0, the fastest"),
    "nvmlDeviceGetPowerUsage": ("power", "the power drawn in milliwatts"),
    "nvmlDeviceGetPowerManagementLimit": ("power_limit", "the power limit in milliwatts"),
    "nvmlDeviceGetPowerManagementDefaultLimit": ("default_power_limit", "the power limit after a start"),
    "nvmlDeviceGetEnforcedPowerLimit": (
        "power_limit",
        "the power limit in milliwatts, the only one reported",
    ),
    "nvmlDeviceGetTotalEnergyConsumption": ("energy", "the millijoules used since the driver was loaded"),
}


def _kind(reading: str, prefix: str) -> Callable[[Device], Any]:
    """Return the function for a fact that NVIDIA's boards alone have, as NVML's constant of it."""

    def read(device: Device) -> Any:
        try:
            return CONSTANTS[f"{prefix}{getattr(device, reading)()}"]
        except UnknownReadingError:
            return CONSTANTS[f"{prefix}UNKNOWN"]

    return read


def _bar1(device: Device) -> Any:
    memory = device.bar1()
    return STRUCTURES["c_nvmlBAR1Memory_t"](memory.total, memory.free, memory.used)


_ANSWERS: dict[str, tuple[Callable[[Device], Any], str]] = {
    **{name: (methodcaller(method), what) for name, (method, what) in _READINGS.items()},
    "nvmlDeviceGetUUID": (lambda device: f"{identity.UUID_PREFIX}{device.uuid()}", "the UUID, ``GPU-...``"),
    "nvmlDeviceGetBrand": (
        _kind("brand", "NVML_BRAND_"),
        "the brand; ``NVML_BRAND_UNKNOWN`` for other vendors",
    ),
    "nvmlDeviceGetArchitecture": (
        _kind("architecture", "NVML_DEVICE_ARCH_"),
        "the architecture; ``NVML_DEVICE_ARCH_UNKNOWN`` for other vendors",
    ),
    "nvmlDeviceGetComputeMode": (
        lambda device: CONSTANTS["NVML_COMPUTEMODE_DEFAULT"],
        "``NVML_COMPUTEMODE_DEFAULT``: any number of processes may use a device",
    ),
    "nvmlDeviceGetBAR1MemoryInfo": (_bar1, "the memory that is mapped through BAR 1"),
    "nvmlDeviceGetMigMode": (
        lambda device: [int(device.mig_enabled())] * 2,
        "whether the board is divided into instances, twice: now and after a restart",
    ),
    "nvmlDeviceIsMigDeviceHandle": (lambda device: 0, "0: no device here is a partition of another"),
    "nvmlDeviceGetMaxMigDeviceCount": (lambda device: 0, "0: no device here is partitioned"),
    "nvmlDeviceGetCurrPcieLinkGeneration": (
        lambda device: device.pcie_link()[0],
        "the PCIe link's generation",
    ),
    "nvmlDeviceGetCurrPcieLinkWidth": (lambda device: device.pcie_link()[1], "the PCIe link's lanes"),
    "nvmlDeviceGetMaxPcieLinkGeneration": (
        lambda device: device.max_pcie_link()[0],
        "the highest generation",
    ),
    "nvmlDeviceGetMaxPcieLinkWidth": (lambda device: device.max_pcie_link()[1], "the most lanes"),
    "nvmlDeviceGetEncoderUtilization": (
        lambda device: [device.encoder_busy(), 0],
        "the percentage of time in which the encoder was busy, and 0 for the unknown sampling period",
    ),
    "nvmlDeviceGetDecoderUtilization": (
        lambda device: [device.decoder_busy(), 0],
        "the percentage of time in which the decoder was busy, and 0 for the unknown sampling period",
    ),
    "nvmlDeviceGetPowerManagementLimitConstraints": (
        lambda device: list(device.power_limits()),
        "the lowest and the highest power limit that can be set, in milliwatts",
    ),
    "nvmlDeviceGetEccMode": (
        lambda device: [int(device.ecc_enabled())] * 2,
        "whether the memory corrects errors (ECC) twice: now and, as far as known, after a restart",
    ),
}
_SAME: dict[str, Callable[..., Any]] = {
    "nvmlDeviceGetPciInfo_v3": identity.nvmlDeviceGetPciInfo,
    "nvmlDeviceGetTemperatureV1": readings.nvmlDeviceGetTemperature,
    "nvmlDeviceGetComputeRunningProcesses_v2": processes.nvmlDeviceGetComputeRunningProcesses,
    "nvmlDeviceGetComputeRunningProcesses_v3": processes.nvmlDeviceGetComputeRunningProcesses,
    "nvmlDeviceGetGraphicsRunningProcesses_v2": processes.nvmlDeviceGetGraphicsRunningProcesses,
    "nvmlDeviceGetGraphicsRunningProcesses_v3": processes.nvmlDeviceGetGraphicsRunningProcesses,
    "nvmlSystemGetCudaDriverVersion_v2": system.nvmlSystemGetCudaDriverVersion,
}
FUNCTIONS = {
    **{name: of_device(recorded(name, f"Return {what}.", read)) for name, (read, what) in _ANSWERS.items()},
    **{name: recorded(name, f"Return what ``{one.__name__}`` returns.", one) for name, one in _SAME.items()},
}
"""The functions by name."""
