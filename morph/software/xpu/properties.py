"""The properties that an Intel GPU reports."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from morph.software import devices
from morph.software.machine import started

MIB = 1 << 20


@dataclasses.dataclass(frozen=True, repr=False)
class DeviceProperties:
    """``torch._C._XpuDeviceProperties``: of a Data Center GPU Max 1550, one of its two tiles."""

    total_memory: int = 0
    uuid: Any = None
    name: str = "Intel(R) Data Center GPU Max 1550"
    platform_name: str = "Intel(R) oneAPI Unified Runtime over Level-Zero"
    vendor: str = "Intel(R) Corporation"
    type: str = "gpu"
    device_id: int = 0x0BD5
    driver_version: str = "1.6.31294+20"
    version: str = "12.60.7"
    architecture: int = 13136561920
    max_compute_units: int = 512
    gpu_eu_count: int = 512
    gpu_subslice_count: int = 64
    max_work_group_size: int = 1024
    max_num_sub_groups: int = 64
    local_mem_size: int = 128 << 10
    last_level_cache_size: int = 204 * MIB
    memory_clock_rate: int = 3200
    memory_bus_width: int = 64
    has_fp16: bool = True
    has_fp64: bool = True
    has_atomic64: bool = True
    has_bfloat16_conversions: bool = True
    has_subgroup_matrix_multiply_accumulate: bool = True
    has_subgroup_matrix_multiply_accumulate_tensor_float32: bool = True
    has_subgroup_2d_block_io: bool = True
    is_integrated_gpu: bool = False

    @property
    def sub_group_sizes(self) -> list[int]:
        """The allowed numbers of work-items in a sub-group."""
        return [16, 32]

    def __repr__(self) -> str:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields |= {"total_memory": f"{self.total_memory // MIB}MB", "uuid": str(self.uuid)}
        fields.pop("name")
        shown = ", ".join(f"{name}={value!r}" for name, value in fields.items())
        return f"_XpuDeviceProperties(name={self.name!r}, {shown})"


DeviceProperties.__name__ = DeviceProperties.__qualname__ = "_XpuDeviceProperties"
DeviceProperties.__module__ = "torch._C"


def of_device(index: int) -> DeviceProperties:
    """Implement ``torch.xpu._get_device_properties``, which torch's initialisation adds.

    Args:
        index: The device; -1 is the current one.

    Raises:
        RuntimeError: If there is no such device.
    """
    index = devices.current_device() if index == -1 else index
    count = started().count
    if not 0 <= index < count:
        raise RuntimeError(f"device is out of range, device is {index}, total number of device is {count}.")
    identity = uuid.uuid5(uuid.NAMESPACE_OID, f"{DeviceProperties.name}, {index}")
    return DeviceProperties(total_memory=started().memory, uuid=identity)
