"""The functions that report one reading of a device, and those that are another under a version's name."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

from morph.aliases.sensors.reading import Device

from . import identity, processes, readings, system
from .constants import CONSTANTS
from .declared import recorded
from .library import of_device

_READINGS = {
    "nvmlDeviceGetName": ("name", "the product's name"),
    "nvmlDeviceGetSerial": ("serial", "the board's serial number"),
    "nvmlDeviceGetVbiosVersion": ("firmware", "the version of the board's firmware"),
    "nvmlDeviceGetNumGpuCores": ("cores", "the number of cores, as the vendor counts them"),
    "nvmlDeviceGetNumaNodeId": ("numa_node", "the NUMA node of the device"),
    "nvmlDeviceGetMemoryBusWidth": ("memory_bus_width", "the width of the memory's bus in bits"),
    "nvmlDeviceGetFanSpeed": ("fan_speed", "the fan's speed as a percentage of its highest"),
    "nvmlDeviceGetPowerUsage": ("power", "the power drawn in milliwatts"),
    "nvmlDeviceGetPowerManagementLimit": ("power_limit", "the power limit in milliwatts"),
    "nvmlDeviceGetEnforcedPowerLimit": (
        "power_limit",
        "the power limit in milliwatts, the only one reported",
    ),
    "nvmlDeviceGetTotalEnergyConsumption": ("energy", "the millijoules used since the driver was loaded"),
}
_CONSTANTS = {
    "nvmlDeviceGetBrand": ("NVML_BRAND_UNKNOWN", "the brands are NVIDIA's"),
    "nvmlDeviceGetArchitecture": ("NVML_DEVICE_ARCH_UNKNOWN", "the architectures are NVIDIA's"),
    "nvmlDeviceGetComputeMode": ("NVML_COMPUTEMODE_DEFAULT", "any number of processes may use a device"),
}
_ANSWERS: dict[str, tuple[Callable[[Device], Any], str]] = {
    **{name: (methodcaller(method), what) for name, (method, what) in _READINGS.items()},
    "nvmlDeviceGetUUID": (lambda device: f"{identity.UUID_PREFIX}{device.uuid()}", "the UUID, ``GPU-...``"),
    "nvmlDeviceIsMigDeviceHandle": (lambda device: 0, "0: no device here is a partition of another"),
    "nvmlDeviceGetMaxMigDeviceCount": (lambda device: 0, "0: no device here can be partitioned"),
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


def _constant(name: str) -> Callable[[Device], Any]:
    return lambda device: CONSTANTS[name]


_ANSWERS |= {name: (_constant(value), f"``{value}``: {why}") for name, (value, why) in _CONSTANTS.items()}
FUNCTIONS = {
    **{name: of_device(recorded(name, f"Return {what}.", read)) for name, (read, what) in _ANSWERS.items()},
    **{name: recorded(name, f"Return what ``{one.__name__}`` returns.", one) for name, one in _SAME.items()},
}
"""The functions by name."""
