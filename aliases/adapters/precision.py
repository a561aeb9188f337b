"""CUDA's TF32 switches, which also set the vendor's shortened float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch.backends
import torch.backends.cuda
import torch.backends.cudnn

_flags: Any = torch.backends  # which has no annotations
_HAS_PRECISIONS = hasattr(_flags, "_FP32Precision")


class Switches:
    """The switches with which programs allow TF32.

    Args:
        allow: Called with torch's flags for products and for convolutions whenever one is set.
        products: The class of ``matmul``.

    Attributes:
        matmul: ``torch.backends.cuda.matmul``.
        convolution: ``torch.backends.cudnn.conv``; None before torch 2.9, which has no such flag.
        allow_tf32: The member ``torch.backends.cudnn.allow_tf32``.
    """

    def __init__(self, allow: Callable[[bool, bool], None], products: type[Matmul] | None = None) -> None:
        self._allow = allow
        self.matmul = (products or Matmul)(self.follow_torch)
        self.convolution = Convolution(self.follow_torch) if _HAS_PRECISIONS else None
        self.allow_tf32 = self.flag("allow_tf32")

    def follow_torch(self) -> None:
        """Set the vendor's switches to match torch's flags."""
        self._allow(_is_allowed("matmul"), _is_allowed("conv"))

    def set_flags(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Implement ``torch.backends.cudnn.set_flags``."""
        before: tuple[Any, ...] = _cudnn().set_flags(*args, **kwargs)
        self.follow_torch()
        return before

    @contextmanager
    def flags(self, *args: Any, **kwargs: Any) -> Iterator[None]:
        """Implement ``torch.backends.cudnn.flags``."""
        try:
            with _cudnn().flags(*args, **kwargs):
                self.follow_torch()
                yield
        finally:
            self.follow_torch()

    def flag(self, name: str) -> Any:
        """Return the member of ``torch.backends.cudnn`` of that name, which the vendor follows."""
        set_in_torch = getattr(torch._C, f"_set_cudnn_{name}")

        def switch(value: Any) -> None:
            set_in_torch(value)
            self.follow_torch()

        return _flags.ContextProp(getattr(torch._C, f"_get_cudnn_{name}"), switch)


class Matmul(_flags.cuda.cuBLASModule):  # type: ignore[misc]
    """``torch.backends.cuda.matmul``, whose TF32 switches also set the vendor's; the rest is torch's own.

    Args:
        follow_torch: Called after a flag is set.
    """

    def __init__(self, follow_torch: Callable[[], None]) -> None:
        object.__setattr__(self, "_follow_torch", follow_torch)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self._follow_torch()


class Convolution(_flags._FP32Precision if _HAS_PRECISIONS else object):  # type: ignore[misc]
    """``torch.backends.cudnn.conv``, whose TF32 switch also sets the vendor's.

    Args:
        follow_torch: Called after the flag is set.
    """

    def __init__(self, follow_torch: Callable[[], None]) -> None:
        super().__init__("cuda", "conv")
        object.__setattr__(self, "_follow_torch", follow_torch)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "fp32_precision":
            self._follow_torch()


def _cudnn() -> Any:
    """Return the module of functions that ``torch.backends.cudnn``, a module of flags, wraps."""
    return _flags.cudnn.m


def _is_allowed(operation: str) -> bool:
    if _HAS_PRECISIONS:
        return bool(torch._C._get_fp32_precision_getter("cuda", operation) == "tf32")
    getters = {"matmul": torch._C._get_cublas_allow_tf32, "conv": torch._C._get_cudnn_allow_tf32}
    return bool(getters[operation]())
