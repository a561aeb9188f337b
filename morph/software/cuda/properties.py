"""What an AMD GPU says of itself through HIP."""

from __future__ import annotations

import dataclasses
import uuid

from morph.software import devices
from morph.software.machine import started

MIB = 1 << 20


@dataclasses.dataclass(frozen=True, repr=False)
class DeviceProperties:
    """``torch._C._CudaDeviceProperties``: of an Instinct MI300X, with as much memory as is simulated."""

    total_memory: int
    uuid: uuid.UUID
    name: str = "AMD Instinct MI300X"
    major: int = 9
    minor: int = 4
    gcnArchName: str = "gfx942:sramecc+:xnack-"
    multi_processor_count: int = 304
    warp_size: int = 64
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    regs_per_multiprocessor: int = 131072
    shared_memory_per_block: int = 65536
    shared_memory_per_multiprocessor: int = 65536
    L2_cache_size: int = 4 * MIB
    is_multi_gpu_board: int = 0
    is_integrated: int = 0
    clock_rate: int = 2100000
    memory_clock_rate: int = 1300000
    memory_bus_width: int = 8192
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0

    def __repr__(self) -> str:
        generation = f"major={self.major}, minor={self.minor}, gcnArchName='{self.gcnArchName}'"
        memory = f"total_memory={self.total_memory // MIB}MB"
        processors = f"multi_processor_count={self.multi_processor_count}, uuid={self.uuid}"
        return f"_CudaDeviceProperties(name='{self.name}', {generation}, {memory}, {processors})"


def of_device(index: int) -> DeviceProperties:
    """Answers ``torch.cuda._get_device_properties``."""
    identity = uuid.uuid5(uuid.NAMESPACE_OID, f"simulated/{devices.valid_index(index)}")
    return DeviceProperties(started().memory, identity, pci_bus_id=index)


DeviceProperties.__name__ = DeviceProperties.__qualname__ = "_CudaDeviceProperties"
DeviceProperties.__module__ = "torch._C"
