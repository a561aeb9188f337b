"""The RMS norm, computed by torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def rms_norm(x: Tensor, weight: Tensor | None, eps: float = 1e-6) -> Tensor:
    """Return ``x / sqrt(mean(x^2) + eps)`` over the last dimension, times ``weight``."""
    return functional.rms_norm(x, x.shape[-1:], weight, eps)


def rms_norm_add(x: Tensor, y: Tensor, weight: Tensor | None, eps: float = 1e-6) -> Tensor:
    """Add ``y`` to ``x`` in place, and return the norm of the sum.

    Raises:
        ValueError: If gradients would be needed, as by the original.
    """
    tensors = x, y, weight
    if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in tensors):
        raise ValueError("Gradients not supported.")
    return rms_norm(x.add_(y), weight, eps)


class RMSNorm(nn.Module):
    """The RMS norm over the last dimension.

    Args:
        dim: Its size.
        include_weight: Whether the result is multiplied by a parameter.
        eps: Added to the mean of the squares.
    """

    def __init__(self, dim: int, include_weight: bool = True, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim)) if include_weight else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the norm of ``x``."""
        return rms_norm(x, self.weight, self.eps)

    def increment_and_forward_(self, x: Tensor, y: Tensor) -> Tensor:
        """Add ``y`` to ``x`` in place, and return the norm of the sum."""
        return rms_norm_add(x, y, self.weight, self.eps)
