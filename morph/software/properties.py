"""The properties that a software device reports through CUDA or HIP."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import platform
import re
import uuid
from typing import Any

from morph.software import visible
from morph.software.machine import Machine, started

MIB = 1 << 20
_BLOCKS = {(7, 5): 16, (8, 6): 16, (8, 7): 16, (8, 9): 24, (12, 0): 24}  # of a multiprocessor, where not 32
_known: dict[tuple[str, int, int], DeviceProperties] = {}  # by vendor, memory and number
_INFORMATION = pathlib.Path("/proc/cpuinfo")
_PROCESSORS = pathlib.Path("/sys/devices/system/cpu")


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
    L2_cache_size: int
    clock_rate: int
    pci_bus_id: int
    gcnArchName: str = ""  # the name, where the vendor is not AMD
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

    @property
    def _max_blocks_per_multi_processor(self) -> int:
        return _BLOCKS.get((self.major, self.minor), 32)

    @property
    def _reserved_shared_memory_per_block(self) -> int:
        return 1024 if self.major >= 8 else 0

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


def of_device(index: int) -> DeviceProperties:
    """Implement ``torch.cuda._get_device_properties``."""
    from morph.software import devices  # which imports torch, as a process that only reads need not

    return of_number(started().visible.indices()[devices.valid_index(index)])


def of_number(number: int) -> DeviceProperties:
    """Return the properties of a device by its number in the machine, which this process need not see."""
    machine = started()
    key = machine.facts.name, machine.memory, number
    if key not in _known:
        _known[key] = _made(machine, number)
    return _known[key]


def _made(machine: Machine, number: int) -> DeviceProperties:
    identity = visible.identity(machine.facts.name, number)
    own: dict[str, Any] = {"total_memory": machine.memory, "uuid": identity, "pci_bus_id": number}
    facts = machine.card.properties if machine.card else _processor()
    return DeviceProperties(**{"gcnArchName": facts["name"], **facts, **own})


@functools.cache
def _processor() -> dict[str, Any]:
    return {
        "name": f"CPU: {_model()}",
        "multi_processor_count": _cores(),
        "L2_cache_size": _cache_size(),
        "clock_rate": _clock_rate(),
    }


def _model() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _content(_INFORMATION), re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _cores() -> int:
    """Return the number of cores, each of which may run several threads."""
    threads = {_content(each) for each in _PROCESSORS.glob("cpu[0-9]*/topology/thread_siblings_list")}
    return len(threads) or os.cpu_count() or 1


def _cache_size() -> int:
    found = re.fullmatch(r"(\d+)K\s*", _content(_PROCESSORS / "cpu0" / "cache" / "index2" / "size"))
    return int(found[1]) << 10 if found else 0


def _clock_rate() -> int:
    """Return the highest frequency in kHz, else the current one; 0 where nothing says it."""
    said = [_content(each).strip() for each in _PROCESSORS.glob("cpu[0-9]*/cpufreq/scaling_max_freq")]
    now = re.findall(r"^cpu MHz\s*:\s*([\d.]+)$", _content(_INFORMATION), re.MULTILINE)
    highest = max((int(each) for each in said if each.isdecimal()), default=0)
    return highest or int(max(map(float, now), default=0.0) * 1000)


def _content(path: pathlib.Path) -> str:
    try:
        return path.read_text()
    except OSError:  # another processor, or a container that hides it
        return ""


DeviceProperties.__name__ = DeviceProperties.__qualname__ = "_CudaDeviceProperties"
DeviceProperties.__module__ = "torch._C"
