"""The processes on a device."""

from __future__ import annotations

import time
from typing import Any

from .library import of_device
from .structures import STRUCTURES, nvmlFriendlyObject

_NO_INSTANCE = 0xFFFFFFFF


@of_device
def nvmlDeviceGetComputeRunningProcesses(handle: Any) -> list[nvmlFriendlyObject]:
    """Return the processes on the device: ``pid``, and ``usedGpuMemory`` in bytes or None if unknown."""
    return [
        nvmlFriendlyObject(
            {
                "pid": process.pid,
                "usedGpuMemory": process.memory,
                "gpuInstanceId": _NO_INSTANCE,
                "computeInstanceId": _NO_INSTANCE,
            }
        )
        for process in handle.processes()
    ]


@of_device
def nvmlDeviceGetProcessUtilization(handle: Any, timeStamp: int) -> list[Any]:
    """Return each process's percentage of the device's time (``smUtil``) since the last call.

    Args:
        handle: The device's handle.
        timeStamp: Microseconds of an earlier call; ignored, since the last call is remembered.

    Returns:
        A list of ``c_nvmlProcessUtilizationSample_t``, whose other percentages are unknown and therefore 0.
    """
    now = time.time_ns() // 1000
    return [
        STRUCTURES["c_nvmlProcessUtilizationSample_t"](pid, now, busy)
        for pid, busy in handle.processes_busy().items()
    ]


@of_device
def nvmlDeviceGetGraphicsRunningProcesses(handle: Any) -> list[nvmlFriendlyObject]:
    """Return the graphics processes: none on a device that only computes, if its processes are known."""
    if handle.draws:
        raise handle.unknown("which of the processes draw")
    handle.processes()
    return []
