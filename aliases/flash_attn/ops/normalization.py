"""Dropout, sums with residuals, and normalization, in float32: what all norms here have in common."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Summed:
    """Inputs of a norm, added up.

    Attributes:
        total: In float32, so that what is normalized is not rounded to the residual's dtype.
        kept: True where an element of ``x`` was not dropped; None without dropout.
        kept1: Likewise for ``x1``.
    """

    total: Tensor
    kept: Tensor | None
    kept1: Tensor | None


def add_up(
    x: Tensor,
    residual: Tensor | None = None,
    x1: Tensor | None = None,
    dropout_p: float = 0.0,
    rowscale: Tensor | None = None,
    colscale: Tensor | None = None,
) -> Summed:
    """Add up the inputs of a norm.

    Args:
        x: Of shape (..., hidden size).
        residual: Of the same shape, or None.
        x1: A second input, which is dropped from like ``x``, or None.
        dropout_p: The probability that an element of ``x`` or ``x1`` is dropped.
        rowscale: What each row of ``x`` is multiplied by, of the shape of ``x`` without its last dimension.
        colscale: What each column of ``x`` is multiplied by, of shape (hidden size,).
    """
    total = x.float()
    if rowscale is not None:
        total = total * rowscale.reshape(*x.shape[:-1], 1)
    if colscale is not None:
        total = total * colscale
    total, kept = _dropped(total, dropout_p)
    kept1 = None
    if x1 is not None:
        second, kept1 = _dropped(x1.float(), dropout_p)
        total = total + second
    if residual is not None:
        total = total + residual
    return Summed(total, kept, kept1)


def normalize(
    total: Tensor, weight: Tensor, bias: Tensor | None, eps: float, is_rms_norm: bool, dtype: torch.dtype
) -> Tensor:
    """Normalize the last dimension.

    Args:
        total: float32 of shape (..., hidden size).
        weight: What the result is multiplied by, of shape (hidden size,).
        bias: What is added, or None.
        eps: What is added to the variance, or to the mean square.
        is_rms_norm: Whether the mean is left in.
        dtype: Of the result.
    """
    shape = total.shape[-1:]
    with torch.autocast(total.device.type, enabled=False):
        if not is_rms_norm:
            wide = None if bias is None else bias.float()
            return functional.layer_norm(total, shape, weight.float(), wide, eps).to(dtype)
        normalized = functional.rms_norm(total, shape, weight.float(), eps)
        return (normalized if bias is None else normalized + bias).to(dtype)


def residual_dtype(x: Tensor, residual: Tensor | None, in_fp32: bool) -> torch.dtype:
    """Return the dtype of the sum: that of the residual, or without one that of ``x`` or float32."""
    if residual is not None:
        return residual.dtype
    return torch.float32 if in_fp32 else x.dtype


def _dropped(x: Tensor, p: float) -> tuple[Tensor, Tensor | None]:
    if p == 0:
        return x, None
    kept = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - p)
    return x * kept / (1 - p), kept
