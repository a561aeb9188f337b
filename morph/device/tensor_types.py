"""The older types of tensors, ``torch.cuda.FloatTensor``: each stands for a dtype on a device."""

from __future__ import annotations

import torch


class TensorType(type):
    """The metaclass of such a type: an instance is any dense tensor of its dtype on the device."""

    dtype: torch.dtype

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        # Tensor.type() and set_default_tensor_type() read the dotted name from the C type (tp_name)
        full: str = type.__dict__["__name__"].__get__(cls)
        return full.rpartition(".")[2]

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, torch.Tensor) or instance.layout is not torch.strided:
            return False
        return instance.device.type == cls.device_type() and instance.dtype == cls.dtype

    def device_type(cls) -> str | None:
        """Return the type of the device that the tensors are on; None where there is none now."""
        raise NotImplementedError
