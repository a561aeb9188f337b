"""Activations, differentiated by torch."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def swiglu(x: Tensor, y: Tensor) -> Tensor:
    """Return ``silu(x) * y``, computed in float32."""
    return (functional.silu(x.float()) * y.float()).to(x.dtype)
