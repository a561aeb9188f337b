"""The properties that a software device reports through CUDA or HIP."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import platform
import re
import uuid
from typing import Any

from morph.software import visible
from morph.software.machine import started

MIB = 1 << 20


@dataclasses.dataclass(frozen=True, repr=False)
class DeviceProperties:
    """``torch._C._CudaDeviceProperties``; the defaults are those of CUDA's compute capability 8.0.

    Programs choose by capability: from 7.0 on half precision, from 8.0 on bfloat16 and SDPA's fused kernels,
    from 9.0 on float8 and kernels written for Hopper. A CPU has the first two and not the third.
    The limits are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    """

    name: str
    total_memory: int
    uuid: uuid.UUID
    multi_processor_count: int
    gcnArchName: str
    L2_cache_size: int
    clock_rate: int
    pci_bus_id: int
    major: int = 8
    minor: int = 0
    warp_size: int = 32
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 166912
    shared_memory_per_multiprocessor: int = 167936
    is_multi_gpu_board: int = 0
    is_integrated: int = 0
    memory_clock_rate: int = 0
    memory_bus_width: int = 64
    pci_device_id: int = 0
    pci_domain_id: int = 0

    def __repr__(self) -> str:
        """As torch's C++ prints it, in a build for CUDA and in one for ROCm."""
        import torch

        architecture = f", gcnArchName='{self.gcnArchName}'" if torch.version.hip else ""
        fields = (
            f"name='{self.name}', major={self.major}, minor={self.minor}{architecture}",
            f"total_memory={self.total_memory // MIB}MB, multi_processor_count={self.multi_processor_count}",
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}",
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // MIB}MB",
        )
        return f"_CudaDeviceProperties({', '.join(fields)})"


MI300X: dict[str, Any] = {
    "name": "AMD Instinct MI300X",
    "major": 9,
    "minor": 4,
    "gcnArchName": "gfx942:sramecc+:xnack-",
    "multi_processor_count": 304,
    "warp_size": 64,
    "regs_per_multiprocessor": 131072,
    "shared_memory_per_block": 65536,
    "shared_memory_per_block_optin": 65536,
    "shared_memory_per_multiprocessor": 65536,
    "L2_cache_size": 4 * MIB,
    "clock_rate": 2100000,
    "memory_clock_rate": 1300000,
    "memory_bus_width": 8192,
}


def of_device(index: int) -> DeviceProperties:
    """Implement ``torch.cuda._get_device_properties``."""
    from morph.software import devices  # which imports torch, as a process that only reads need not

    return of_number(started().visible.indices()[devices.valid_index(index)])


def of_number(number: int) -> DeviceProperties:
    """Return the properties of a device by its number in the machine, which this process need not see."""
    machine = started()
    identity = visible.identity(machine.facts.name, number)
    own: dict[str, Any] = {"total_memory": machine.memory, "uuid": identity, "pci_bus_id": number}
    return DeviceProperties(**(_processor() if machine.facts.software else MI300X), **own)


@functools.cache
def _processor() -> dict[str, Any]:
    import psutil  # takes 10 ms, which each activation would pay

    frequency, name = psutil.cpu_freq(), f"CPU: {_model()}"
    return {
        "name": name,
        "gcnArchName": name,
        "multi_processor_count": psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        "L2_cache_size": _cache_size(),
        "clock_rate": int((frequency.max or frequency.current) * 1000) if frequency else 0,
    }


def _model() -> str:
    information = pathlib.Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", information.read_text(), re.MULTILINE)
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def _cache_size() -> int:
    size = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
    found = re.fullmatch(r"(\d+)K\s*", size.read_text()) if size.exists() else None
    return int(found[1]) << 10 if found else 0


DeviceProperties.__name__ = DeviceProperties.__qualname__ = "_CudaDeviceProperties"
DeviceProperties.__module__ = "torch._C"
