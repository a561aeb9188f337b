"""The types such as ``torch.cuda.FloatTensor``, for backends where neither torch nor the vendor has them."""

from __future__ import annotations

from typing import Any

import torch

from morph.backends import active
from morph.device.tensor_types import TensorType

CUDA = "cuda"


class CudaTensorType(TensorType):
    """The metaclass of ``torch.cuda.FloatTensor``: its tensors are on the active backend's device."""

    def device_type(cls) -> str | None:
        """Return the active backend's device type."""
        backend = active()
        return backend.device_type if backend else None

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Create a tensor from a shape, data or a storage, as the CPU type of that dtype does."""
        if args and isinstance(args[0], torch.Tensor):
            return _alias(cls, args[0])
        on_host: torch.Tensor = getattr(torch, cls.__name__)(*args)
        return on_host.to(torch.device(kwargs.get("device") or CUDA))


def _alias(cls: CudaTensorType, tensor: torch.Tensor) -> torch.Tensor:
    if not isinstance(tensor, cls):
        raise TypeError(f"expected {cls.dtype} on {CUDA} (got {tensor.dtype} on {tensor.device})")
    return tensor.detach()


def _tensor_type(name: str) -> Any:
    body = {"__module__": "torch.cuda", "__qualname__": name, "dtype": getattr(torch, name).dtype}
    body |= {"is_cuda": True, "is_sparse": False, "layout": torch.strided}
    return CudaTensorType(f"torch.cuda.{name}", (), body)


BFloat16Tensor = _tensor_type("BFloat16Tensor")
BoolTensor = _tensor_type("BoolTensor")
ByteTensor = _tensor_type("ByteTensor")
CharTensor = _tensor_type("CharTensor")
DoubleTensor = _tensor_type("DoubleTensor")
FloatTensor = _tensor_type("FloatTensor")
HalfTensor = _tensor_type("HalfTensor")
IntTensor = _tensor_type("IntTensor")
LongTensor = _tensor_type("LongTensor")
ShortTensor = _tensor_type("ShortTensor")
