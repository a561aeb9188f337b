"""A device's name and properties, under CUDA's parameter and field names."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Callable
from typing import Any

import torch

from morph.backends import active
from morph.backends.refusal import lacks

# The operands of occupancy calculations; the numbers are the same for capability 7.0 and 8.0
STAND_INS = {
    "is_integrated": 0,
    "is_multi_gpu_board": 0,
    "max_threads_per_multi_processor": 2048,
    "regs_per_multiprocessor": 65536,
    "warp_size": 32,
}
ABSENT = (
    "L2_cache_size",
    "clock_rate",
    "memory_bus_width",
    "memory_clock_rate",
    "shared_memory_per_block",
    "shared_memory_per_multiprocessor",
)


class DeviceProperties:
    """The vendor's properties of one device, with the fields of CUDA's.

    A field is the vendor's where the vendor sets it, else a stand-in from ``STAND_INS``. The capability is
    CUDA's, however the vendor numbers its generations. The fields in ``ABSENT`` describe hardware that only a
    GPU has, and raise an error that names them.

    Args:
        vendor: The vendor's properties.
        capability: The device's ``torch.cuda.get_device_capability()``.
        index: The device's index.
    """

    def __init__(self, vendor: Any, capability: tuple[int, int], index: int = 0) -> None:
        self._vendor = vendor
        self._index = index
        self.major, self.minor = capability
        self._stand_ins = {**STAND_INS, "gcnArchName": vendor.name}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._vendor, name, None)
        if value is not None:
            return value
        if name in self._stand_ins:
            return self._stand_ins[name]
        if name == "uuid":
            return made_up_uuid(self._index)
        if name in ABSENT:
            reason = "it describes a GPU; read the vendor's own fields instead"
            raise lacks(f"torch.cuda.get_device_properties().{name}", reason)
        return getattr(self._vendor, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._vendor), *self._stand_ins, "uuid"})

    def __repr__(self) -> str:
        fields = "name", "major", "minor", "total_memory", "multi_processor_count"
        return f"_CudaDeviceProperties({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


def get_device_properties(target: Callable[[Any], Any], device: Any = None) -> DeviceProperties:
    """Implement ``torch.cuda.get_device_properties(device)``."""
    cuda: Any = torch.cuda
    index = cuda._get_device_index(device, optional=True)
    return DeviceProperties(target(device), cuda.get_device_capability(device), index)


def made_up_uuid(index: int) -> uuid.UUID:
    """Return an identifier for a device whose vendor does not report a UUID.

    Two processes of one host that see the same device through different masks get the same one.

    Args:
        index: The device's index in this process.
    """
    backend = active()
    facts = backend.table.facts if backend else None
    mask = os.environ.get(facts.visible_devices, "") if facts else ""
    visible = [device.strip() for device in mask.split(",") if device.strip()]
    device = visible[index] if index < len(visible) else str(index)
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{platform.node()}/{facts.module if facts else ''}/{device}")


def get_device_name(target: Callable[[Any], str], device: Any = None) -> str:
    """Implement ``torch.cuda.get_device_name(device)``."""
    return target(device)


def can_device_access_peer(target: Callable[[Any, Any], bool], device: Any, peer_device: Any) -> bool:
    """Implement ``torch.cuda.can_device_access_peer(device, peer_device)``."""
    return target(device, peer_device)
