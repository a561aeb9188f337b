"""What the CPU says about itself where a CUDA program asks about its GPU."""

from __future__ import annotations

import functools
import pathlib
import platform
import re
import uuid
from dataclasses import dataclass
from typing import Any

import psutil
import torch
import torch.cpu

from morph.aliases.torch_cuda.cpu.device import index_of
from morph.aliases.torch_cuda.cpu.host import total_memory
from morph.aliases.torch_cuda.refusal import lacks

# Programs choose by capability: from 7.0 on half precision, from 8.0 on bfloat16 and SDPA's fused kernels,
# from 9.0 on float8 and kernels written for Hopper. The CPU has the first two and not the third.
CAPABILITY = (8, 0)

_BFLOAT16 = ("avx512_bf16", "amx_bf16", "avx_ne_convert", "bf16", "sve_bf16")


@dataclass(frozen=True)
class DeviceProperties:
    """The CPU's answers to the fields of CUDA's device properties.

    Attributes:
        name: The processor's model.
        major: Of ``CAPABILITY``.
        minor: Of ``CAPABILITY``.
        total_memory: Of the host, or of the control group that this process runs in, in bytes.
        multi_processor_count: Physical cores.
        max_threads_per_multi_processor: Threads that one core runs at once.
        max_threads_per_block: As many as a core runs.
        warp_size: 1: each thread has its own instruction stream.
        L2_cache_size: Of one core's second-level cache in bytes; 0 where the system does not tell.
        uuid: The same for each process on the host.
        is_integrated: 1: it shares the host's memory, being the host.
        is_multi_gpu_board: 0.
        clock_rate: The highest, in kilohertz; 0 where the system does not tell.
        gcnArchName: The name again, as on CUDA.
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    max_threads_per_block: int
    L2_cache_size: int
    uuid: uuid.UUID
    clock_rate: int
    gcnArchName: str
    warp_size: int = 1
    is_integrated: int = 1
    is_multi_gpu_board: int = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise lacks(f"get_device_properties().{name}", "a CPU has no such property")

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return what the CPU says of itself.

    Raises:
        AssertionError: If ``device`` is not the one there is, as on CUDA.
    """
    try:
        index = index_of(device, optional=True)
    except torch.AcceleratorError:
        index = -1
    if index < 0:
        raise AssertionError("Invalid device id")
    return _properties()


def get_device_name(device: Any = None) -> str:
    """Return the processor's model."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return ``CAPABILITY``."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Tell whether bfloat16 works; without ``including_emulation``, whether the processor computes in it."""
    return including_emulation or any(torch.cpu.get_capabilities().get(name) for name in _BFLOAT16)


def is_tf32_supported() -> bool:
    """Return False: TF32 is a format of NVIDIA's tensor cores."""
    return False


@functools.cache
def _properties() -> DeviceProperties:
    cores = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    threads = max(1, (psutil.cpu_count() or cores) // cores)
    frequency = psutil.cpu_freq()
    name = f"CPU: {_model()}"
    return DeviceProperties(
        name=name,
        major=CAPABILITY[0],
        minor=CAPABILITY[1],
        total_memory=total_memory(),
        multi_processor_count=cores,
        max_threads_per_multi_processor=threads,
        max_threads_per_block=threads,
        L2_cache_size=_cache_size(),
        uuid=uuid.uuid5(uuid.NAMESPACE_DNS, platform.node()),
        clock_rate=int((frequency.max or frequency.current) * 1000) if frequency else 0,
        gcnArchName=name,
    )


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
