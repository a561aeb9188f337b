"""The properties of an Intel GPU in CUDA's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from morph.aliases.adapters import properties
from morph.aliases.adapters.capability import WITH_BFLOAT16, WITHOUT_BFLOAT16

# torch's own assumption about a vector engine (gpu_hw_threads_per_eu in c10/xpu/XPUDeviceProp.h)
THREADS_PER_ENGINE = 8
KILOHERTZ_PER_MEGAHERTZ = 1000

Computation = Callable[[Any], Any]
# A multiprocessor is an Xe core, as in Inductor; the rest follows Intel's migration of cudaDeviceProp
COMPUTED: Mapping[str, Computation] = {
    "L2_cache_size": lambda xpu: xpu.last_level_cache_size,
    "is_integrated": lambda xpu: int(xpu.is_integrated_gpu),
    "max_threads_per_block": lambda xpu: xpu.max_work_group_size,
    "max_threads_per_multi_processor": lambda xpu: (
        xpu.gpu_eu_count // xpu.gpu_subslice_count * THREADS_PER_ENGINE * max(xpu.sub_group_sizes)
    ),
    "memory_clock_rate": lambda xpu: xpu.memory_clock_rate * KILOHERTZ_PER_MEGAHERTZ,
    "multi_processor_count": lambda xpu: xpu.gpu_subslice_count,
    "shared_memory_per_block": lambda xpu: xpu.local_mem_size,
    "shared_memory_per_block_optin": lambda xpu: xpu.local_mem_size,
    "shared_memory_per_multiprocessor": lambda xpu: xpu.local_mem_size,
    "warp_size": lambda xpu: max(xpu.sub_group_sizes),
}


class DeviceProperties(properties.DeviceProperties):
    """Intel's properties of one device, with CUDA's fields and units."""

    def __getattr__(self, name: str) -> Any:
        if name in COMPUTED:
            return COMPUTED[name](self._vendor)
        return super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *COMPUTED})


def get_device_name(target: Callable[[Any], str], device: Any = None) -> str:
    """Implement ``torch.cuda.get_device_name(device)``."""
    _refuse_unless_there(device)
    return target(device)


def get_device_properties(target: Callable[[Any], Any], device: Any = None) -> DeviceProperties:
    """Implement ``torch.cuda.get_device_properties(device)``."""
    _refuse_unless_there(device)
    return DeviceProperties(target(device), torch.cuda.get_device_capability(device))


def get_device_capability(target: Callable[[Any], Mapping[str, Any]], device: Any = None) -> tuple[int, int]:
    """Implement ``torch.cuda.get_device_capability(device)``.

    Args:
        target: Intel's function, which returns a dictionary of features.
        device: The device; None is the current one.

    Returns:
        The lowest CUDA capability that matches the device's support of bfloat16.
    """
    _refuse_unless_there(device)
    return WITH_BFLOAT16 if target(device)["has_bfloat16_conversions"] else WITHOUT_BFLOAT16


def _refuse_unless_there(device: Any) -> None:
    """Raise the error of CUDA, not that of torch.xpu, for a device that does not exist."""
    cuda: Any = torch.cuda
    if not 0 <= cuda._get_device_index(device, optional=True) < cuda.device_count():
        raise AssertionError("Invalid device id")
