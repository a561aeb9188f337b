"""The processes on a device."""

from __future__ import annotations

from typing import Any

from .library import of_device
from .structures import nvmlFriendlyObject

_NO_INSTANCE = 0xFFFFFFFF


@of_device
def nvmlDeviceGetComputeRunningProcesses(handle: Any) -> list[nvmlFriendlyObject]:
    """Return the processes on the device: ``pid``, and ``usedGpuMemory`` in bytes, None if it is not told."""
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


def nvmlDeviceGetComputeRunningProcesses_v2(handle: Any) -> list[nvmlFriendlyObject]:
    """Return what ``nvmlDeviceGetComputeRunningProcesses`` does."""
    found: list[nvmlFriendlyObject] = nvmlDeviceGetComputeRunningProcesses(handle)
    return found


def nvmlDeviceGetComputeRunningProcesses_v3(handle: Any) -> list[nvmlFriendlyObject]:
    """Return what ``nvmlDeviceGetComputeRunningProcesses`` does."""
    found: list[nvmlFriendlyObject] = nvmlDeviceGetComputeRunningProcesses(handle)
    return found
