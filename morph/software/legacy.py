"""The older types of a device: the families of ``torch.npu.FloatTensor`` and ``torch.npu.FloatStorage``."""

from __future__ import annotations

from typing import Any

import torch
from torch._utils import classproperty

from morph.device.tensor_types import TensorType
from morph.software import devices
from morph.software.machine import Machine, started

DTYPES = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
    "ComplexFloat": torch.complex64,
    "ComplexDouble": torch.complex128,
}
QUANTIZED = [torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint32, torch.qint8]


def values(machine: Machine) -> dict[str, Any]:
    """Return the vendor's names on this subject."""
    module = machine.facts.module
    storages = {f"{kind}Storage": _storage_type(module, kind, dtype) for kind, dtype in DTYPES.items()}
    return {**tensor_types(module), **storages}


def tensor_types(module: str) -> dict[str, SoftwareTensorType]:
    """Return the types of tensors, ``FloatTensor`` and so on, of a module by its dotted name."""
    return {f"{kind}Tensor": _tensor_type(module, kind, dtype) for kind, dtype in DTYPES.items()}


class SoftwareTensorType(TensorType):
    """The metaclass of ``torch.npu.FloatTensor``: its tensors are on the simulated device."""

    def device_type(cls) -> str:
        """Return the simulated device type."""
        return started().device_type

    def __call__(cls, *arguments: Any) -> torch.Tensor:
        """Make a tensor of a shape, or of data."""
        host = getattr(torch, cls.__name__, None)
        made = host(*arguments) if host else torch.Tensor(*arguments).to(cls.dtype)
        return made.to(devices._get_device(devices.current_device()))


def _tensor_type(module: str, kind: str, dtype: torch.dtype) -> SoftwareTensorType:
    body = {"dtype": dtype, "__module__": module, "__doc__": f"{dtype} on the device."}
    return SoftwareTensorType(f"{module}.{kind}Tensor", (), body)


def _storage_type(module: str, kind: str, dtype: torch.dtype) -> Any:
    constant: Any = classproperty
    body = {"dtype": constant(lambda cls: dtype), "_dtype": constant(lambda cls: dtype)}
    body |= {"__module__": module, "__doc__": f"A typed storage of {dtype} on the device."}
    base: Any = torch.storage._LegacyStorage
    return type(base)(f"{kind}Storage", (base,), body)
