"""The types such as ``torch.cuda.FloatTensor``, for backends where neither torch nor the vendor has them."""

from __future__ import annotations

from typing import Any

import torch

from morph.backends import active

CUDA = "cuda"


class TensorType(type):
    """The metaclass of ``torch.cuda.FloatTensor``: any tensor of that dtype on the device is an instance."""

    dtype: torch.dtype

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        # Tensor.type() reads the full name from the C type
        full: str = type.__dict__["__name__"].__get__(cls)
        return full.rpartition(".")[2]

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"

    def __instancecheck__(cls, instance: object) -> bool:
        backend = active()
        if backend is None or not isinstance(instance, torch.Tensor) or instance.layout is not torch.strided:
            return False
        return instance.device.type == backend.device_type and instance.dtype == cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Create a tensor from a shape, data or a storage, as the CPU type of that dtype does."""
        if args and isinstance(args[0], torch.Tensor):
            return _alias(cls, args[0])
        on_host: torch.Tensor = getattr(torch, cls.__name__)(*args)
        return on_host.to(torch.device(kwargs.get("device") or CUDA))


def _alias(cls: TensorType, tensor: torch.Tensor) -> torch.Tensor:
    if not isinstance(tensor, cls):
        raise TypeError(f"expected {cls.dtype} on {CUDA} (got {tensor.dtype} on {tensor.device})")
    return tensor.detach()


def _tensor_type(name: str) -> Any:
    body = {"__module__": "torch.cuda", "__qualname__": name, "dtype": getattr(torch, name).dtype}
    body |= {"is_cuda": True, "is_sparse": False, "layout": torch.strided}
    return TensorType(f"torch.cuda.{name}", (), body)


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
