"""Memory, load, temperature, power and clocks of a device, in NVML's units."""

from __future__ import annotations

import time
from typing import Any

from morph.aliases.sensors.reading import Clock, UnknownReadingError

from .constants import CONSTANTS
from .errors import fail
from .library import of_device
from .structures import STRUCTURES

_CLOCKS = {
    CONSTANTS["NVML_CLOCK_GRAPHICS"]: Clock.COMPUTE,
    CONSTANTS["NVML_CLOCK_SM"]: Clock.COMPUTE,
    CONSTANTS["NVML_CLOCK_MEM"]: Clock.MEMORY,
    CONSTANTS["NVML_CLOCK_VIDEO"]: Clock.VIDEO,
}
_SLOWDOWN = CONSTANTS["NVML_TEMPERATURE_THRESHOLD_SLOWDOWN"]
_SHUTDOWN = CONSTANTS["NVML_TEMPERATURE_THRESHOLD_SHUTDOWN"]
_GPU_SENSOR = CONSTANTS["NVML_TEMPERATURE_GPU"]


@of_device
def nvmlDeviceGetMemoryInfo(handle: Any, version: int | None = None) -> Any:
    """Return total, free and used memory in bytes, for all processes.

    Args:
        handle: The device's handle.
        version: ``nvmlMemory_v2`` for a ``c_nvmlMemory_v2_t``, whose reserved memory is 0: it counts as used.
    """
    memory = handle.memory()
    if version is None:
        return STRUCTURES["c_nvmlMemory_t"](memory.total, memory.free, memory.used)
    if version != CONSTANTS["nvmlMemory_v2"]:
        fail("ARGUMENT_VERSION_MISMATCH")
    return STRUCTURES["c_nvmlMemory_v2_t"](version, memory.total, 0, memory.free, memory.used)


@of_device
def nvmlDeviceGetUtilizationRates(handle: Any) -> Any:
    """Return the percentages of time in which the cores (``gpu``) and the memory were busy.

    Where only the cores' percentage is known (the CPU, Ascend without its tool, Cambricon), ``memory`` is 0.
    This structure of NVML has no value for unknown, and programs such as nvitop read both fields: an error
    would hide the cores' load. ``torch.cuda.memory_usage``, which is one figure, raises an error.
    """
    rates = STRUCTURES["c_nvmlUtilization_t"]()
    rates.gpu = handle.busy()
    try:
        rates.memory = handle.memory_busy()
    except UnknownReadingError:
        rates.memory = 0
    return rates


@of_device
def nvmlDeviceGetTemperature(handle: Any, sensor: int) -> int:
    """Return the chip's temperature in degrees Celsius.

    Args:
        handle: The device's handle.
        sensor: ``NVML_TEMPERATURE_GPU``, the only one.
    """
    if sensor != _GPU_SENSOR:
        fail("INVALID_ARGUMENT", f"there is no sensor {sensor}")
    return int(handle.temperature())


def nvmlDeviceGetTemperatureV(
    handle: Any, sensor: int, version: int = CONSTANTS["nvmlTemperature_v1"]
) -> int:
    """Return what ``nvmlDeviceGetTemperature`` returns; ``version`` is ``nvmlTemperature_v1``."""
    if version != CONSTANTS["nvmlTemperature_v1"]:
        fail("ARGUMENT_VERSION_MISMATCH")
    return int(nvmlDeviceGetTemperature(handle, sensor))


@of_device
def nvmlDeviceGetTemperatureThreshold(handle: Any, threshold: int) -> int:
    """Return the temperature at which the chip is throttled or shuts down, in degrees Celsius.

    Args:
        handle: The device's handle.
        threshold: ``NVML_TEMPERATURE_THRESHOLD_SLOWDOWN`` or ``..._SHUTDOWN``; no platform reports another.
    """
    if threshold == _SHUTDOWN:
        return int(handle.shutdown_temperature())
    if threshold != _SLOWDOWN:
        raise handle.unknown("this threshold")
    return int(handle.temperature_limit())


@of_device
def nvmlDeviceGetFanSpeed_v2(handle: Any, fan: int) -> int:
    """Return a fan's speed as a percentage of its highest; platforms only report fan 0."""
    if fan != 0:
        fail("INVALID_ARGUMENT", f"there is no fan {fan}")
    return int(handle.fan_speed())


@of_device
def nvmlDeviceGetClockInfo(handle: Any, type: int) -> int:
    """Return a clock in megahertz.

    Args:
        handle: The device's handle.
        type: ``NVML_CLOCK_GRAPHICS`` or ``NVML_CLOCK_SM``, ``NVML_CLOCK_MEM``, ``NVML_CLOCK_VIDEO``.
    """
    return int(handle.clock(_clock(type)))


@of_device
def nvmlDeviceGetMaxClockInfo(handle: Any, type: int) -> int:
    """Return the highest value of a clock in megahertz; ``type`` as for ``nvmlDeviceGetClockInfo``."""
    return int(handle.max_clock(_clock(type)))


@of_device
def nvmlDeviceGetTotalEccErrors(handle: Any, errorType: int, counterType: int) -> int:
    """Return the number of memory errors.

    Args:
        handle: The device's handle.
        errorType: ``NVML_MEMORY_ERROR_TYPE_CORRECTED`` or ``..._UNCORRECTED``.
        counterType: ``NVML_VOLATILE_ECC``: platforms count from the loading of the driver.
    """
    if counterType != CONSTANTS["NVML_VOLATILE_ECC"]:
        raise handle.unknown("errors of the board's whole life")
    corrected = errorType == CONSTANTS["NVML_MEMORY_ERROR_TYPE_CORRECTED"]
    return int(handle.ecc_errors(corrected=corrected))


@of_device
def nvmlDeviceGetFieldValues(handle: Any, fieldIds: Any) -> Any:
    """Return values by field id, each with its own status code.

    Args:
        handle: The device's handle.
        fieldIds: Ids of ``NVML_FI_...``, or pairs of an id and a scope.

    Returns:
        An array of ``c_nvmlFieldValue_t``.
    """
    values = (STRUCTURES["c_nvmlFieldValue_t"] * len(fieldIds))()
    for value, wanted in zip(values, fieldIds, strict=True):
        value.fieldId, value.scopeId = wanted if isinstance(wanted, tuple) else (wanted, 0)
        _fill(value, handle)
    return values


_FIELDS = {
    CONSTANTS["NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION"]: lambda device: device.energy(),
    CONSTANTS["NVML_FI_DEV_POWER_INSTANT"]: lambda device: device.power(),
    CONSTANTS["NVML_FI_DEV_POWER_CURRENT_LIMIT"]: lambda device: device.power_limit(),
    CONSTANTS["NVML_FI_DEV_NVLINK_LINK_COUNT"]: lambda device: device.links().count,
    CONSTANTS["NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON"]: lambda device: device.links().speed,
}


def _fill(value: Any, device: Any) -> None:
    value.timestamp = time.time_ns() // 1000
    value.valueType = CONSTANTS["NVML_VALUE_TYPE_UNSIGNED_LONG_LONG"]
    try:
        value.value.ullVal = _FIELDS[value.fieldId](device)
    except (KeyError, UnknownReadingError):
        value.nvmlReturn = CONSTANTS["NVML_ERROR_NOT_SUPPORTED"]


def _clock(kind: int) -> Clock:
    if kind not in _CLOCKS:
        fail("INVALID_ARGUMENT", f"there is no clock {kind}")
    return _CLOCKS[kind]
