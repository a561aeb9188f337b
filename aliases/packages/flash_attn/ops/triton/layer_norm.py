"""Normalization with dropout, a residual, a second input and a second weight."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...utils.torch import custom_bwd, custom_fwd
from ..normalization import add_up, normalize, residual_dtype
from .layer_norm_reference import layer_norm_ref, rms_norm_ref


def maybe_contiguous_lastdim(x: Tensor | None) -> Tensor | None:
    """Return ``x``, copied if its last dimension is not contiguous."""
    return x.contiguous() if x is not None and x.stride(-1) != 1 else x


def maybe_contiguous(x: Tensor | None) -> Tensor | None:
    """Return ``x``, copied if it is not contiguous."""
    return x.contiguous() if x is not None else None


def layer_norm_fn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None = None,
    x1: Tensor | None = None,
    weight1: Tensor | None = None,
    bias1: Tensor | None = None,
    eps: float = 1e-6,
    dropout_p: float = 0.0,
    rowscale: Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    zero_centered_weight: bool = False,
    is_rms_norm: bool = False,
    return_dropout_mask: bool = False,
    out_dtype: torch.dtype | None = None,
    out: Tensor | None = None,
    residual_out: Tensor | None = None,
) -> Any:
    """Apply dropout to the inputs, add them up, and normalize the sum.

    Args:
        x: Of shape (..., hidden size).
        weight: Of shape (hidden size,).
        bias: Of shape (hidden size,), or None.
        residual: Of the shape of ``x``, or None.
        x1: A second input, of the shape of ``x``.
        weight1: A second weight, for a second result.
        bias1: The bias of the second result.
        eps: The value added to the variance.
        dropout_p: The probability that an element of ``x`` or ``x1`` is dropped.
        rowscale: The factor of each row of ``x``; not together with ``x1``.
        prenorm: Whether the sum is also returned.
        residual_in_fp32: Whether the sum is float32 if there is no residual that determines its dtype.
        zero_centered_weight: Whether 1 is added to the weights.
        is_rms_norm: Whether the mean is not subtracted.
        return_dropout_mask: Whether the dropout mask is also returned.
        out_dtype: The dtype of the results; None for that of ``x``.
        out: The tensor for the result.
        residual_out: The tensor for the sum.

    Returns:
        The result, the second one if there is a ``weight1``, the sum with ``prenorm``, and with
        ``return_dropout_mask`` bool masks of the kept elements of ``x`` and ``x1``; alone, or as a tuple.
    """
    assert residual is None or residual.shape == x.shape
    assert x1 is None or x1.shape == x.shape
    assert x1 is None or rowscale is None, "rowscale is not supported with parallel LayerNorm"
    summed = add_up(x, residual, x1, dropout_p, rowscale)
    dtype, offset = out_dtype or x.dtype, 1 if zero_centered_weight else 0
    result = normalize(summed.total, weight + offset, bias, eps, is_rms_norm, dtype)
    results = [result if out is None else out.copy_(result)]
    if weight1 is not None:
        results.append(normalize(summed.total, weight1 + offset, bias1, eps, is_rms_norm, dtype))
    if prenorm:
        total = summed.total.to(residual_dtype(x, residual, residual_in_fp32))
        results.append(total if residual_out is None else residual_out.copy_(total))
    if return_dropout_mask:
        return *results, summed.kept, summed.kept1
    return tuple(results) if len(results) > 1 else results[0]


def rms_norm_fn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None = None,
    x1: Tensor | None = None,
    weight1: Tensor | None = None,
    bias1: Tensor | None = None,
    eps: float = 1e-6,
    dropout_p: float = 0.0,
    rowscale: Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    zero_centered_weight: bool = False,
    return_dropout_mask: bool = False,
    out_dtype: torch.dtype | None = None,
    out: Tensor | None = None,
    residual_out: Tensor | None = None,
) -> Any:
    """Do what :func:`layer_norm_fn` does, without subtracting the mean."""
    inputs = x, weight, bias, residual, x1, weight1, bias1
    options = eps, dropout_p, rowscale, prenorm, residual_in_fp32, zero_centered_weight
    return layer_norm_fn(*inputs, *options, True, return_dropout_mask, out_dtype, out, residual_out)


class LayerNormFn:
    """An autograd function in flash_attn; here torch differentiates it automatically."""

    apply = staticmethod(layer_norm_fn)


class RMSNorm(torch.nn.Module):
    """Root mean square normalization with dropout and a residual; see :func:`layer_norm_fn`."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        dropout_p: float = 0.0,
        zero_centered_weight: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.drop = torch.nn.Dropout(dropout_p) if dropout_p > 0.0 else None
        self.zero_centered_weight = zero_centered_weight
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the weight to a factor of one."""
        torch.nn.init.constant_(self.weight, 0.0 if self.zero_centered_weight else 1.0)

    def forward(
        self,
        x: Tensor,
        residual: Tensor | None = None,
        prenorm: bool = False,
        residual_in_fp32: bool = False,
    ) -> Any:
        """Normalize ``x + residual``; see :func:`layer_norm_fn`."""
        return rms_norm_fn(
            x,
            self.weight,
            None,
            residual=residual,
            eps=self.eps,
            dropout_p=self.drop.p if self.drop is not None and self.training else 0.0,
            prenorm=prenorm,
            residual_in_fp32=residual_in_fp32,
            zero_centered_weight=self.zero_centered_weight,
        )


def layer_norm_linear_fn(
    x: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor | None,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    residual: Tensor | None = None,
    eps: float = 1e-6,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    is_rms_norm: bool = False,
) -> Any:
    """Do what :func:`layer_norm_fn` does, then apply a linear layer, in autocast's dtype if it is enabled."""
    device = x.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
    summed = add_up(x, residual)
    normalized = normalize(summed.total, norm_weight, norm_bias, eps, is_rms_norm, dtype)
    bias = None if linear_bias is None else linear_bias.to(dtype)
    out = functional.linear(normalized, linear_weight.to(dtype), bias)
    return (out, summed.total.to(residual_dtype(x, residual, residual_in_fp32))) if prenorm else out


class LayerNormLinearFn:
    """An autograd function in flash_attn; here torch differentiates it automatically."""

    apply = staticmethod(layer_norm_linear_fn)
