"""Layer normalization of dropped-out inputs and a residual."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .dropout_norms import (
    DropoutAddLayerNormFn,
    DropoutAddLayerNormParallelResidualFn,
    DropoutAddLayerNormSubsetFn,
)


def maybe_align(x: Tensor, alignment_in_bytes: int = 16) -> Tensor:
    """Return ``x``, copied if its memory does not begin at a multiple of so many bytes."""
    return x if x.data_ptr() % alignment_in_bytes == 0 else x.clone()


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, epsilon: float) -> Tensor:
    """Normalize the last dimension of ``x``."""
    return DropoutAddLayerNormFn.apply(x, None, weight, bias, None, None, 0.0, epsilon)  # type: ignore[no-any-return]


def dropout_add_layer_norm(
    x0: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    dropout_p: float,
    epsilon: float,
    rowscale: Tensor | None = None,
    layerscale: Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    """Drop from an input, add a residual, and normalize.

    Args:
        x0: Of shape (..., hidden size).
        residual: Of the same shape, or None.
        weight: Of shape (hidden size,).
        bias: Of shape (hidden size,), or None.
        dropout_p: The probability that an element of ``x0`` is dropped.
        epsilon: What is added to the variance.
        rowscale: What each row of ``x0`` is multiplied by.
        layerscale: What each column of ``x0`` is multiplied by.
        prenorm: Whether the sum is wanted too.
        residual_in_fp32: Whether the sum is float32 where there is no residual to give it its dtype.
        return_dropout_mask: Whether it is wanted what was kept.

    Returns:
        The result in the dtype of ``x0``; with ``prenorm`` also the sum; with ``return_dropout_mask`` also
        a uint8 mask of what was kept.
    """
    options = rowscale, layerscale, dropout_p, epsilon, residual_in_fp32, prenorm, False
    return DropoutAddLayerNormFn.apply(x0, residual, weight, bias, *options, return_dropout_mask)


def dropout_add_layer_norm_subset(
    x0: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    dropout_p: float,
    epsilon: float,
    layerscale: Tensor | None = None,
    x0_subset: Tensor | None = None,
    out_subset: Tensor | None = None,
    rowscale_const: float = 1.0,
    out_numrows: int = 0,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    """Do what :func:`dropout_add_layer_norm` does, for some rows: the residual has all of them.

    ``x0_subset`` is int32 with one element per row: which row of ``x0`` it is, from 1; 0 for a row of zeros.
    ``out_subset`` likewise says which of ``out_numrows`` rows of the result it is. ``x0`` is multiplied by
    ``rowscale_const``.
    """
    subset = layerscale, x0_subset, out_subset, dropout_p, epsilon, rowscale_const, out_numrows
    options = residual_in_fp32, prenorm, False, return_dropout_mask
    return DropoutAddLayerNormSubsetFn.apply(x0, residual, weight, bias, *subset, *options)


def dropout_add_layer_norm_parallel_residual(
    x0: Tensor,
    x1: Tensor | None,
    residual: Tensor | None,
    weight0: Tensor,
    bias0: Tensor | None,
    weight1: Tensor | None,
    bias1: Tensor | None,
    dropout_p: float,
    epsilon: float,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    """Drop from two inputs, add them and a residual up, and normalize the sum with two weights.

    See :func:`dropout_add_layer_norm` for the arguments.

    Returns:
        Both results, the second one None without ``weight1``; with ``prenorm`` also the sum; with
        ``return_dropout_mask`` also uint8 masks of what was kept of ``x0`` and ``x1``.
    """
    inputs = x0, x1, residual, weight0, bias0, weight1, bias1
    options = residual_in_fp32, prenorm, False, return_dropout_mask
    return DropoutAddLayerNormParallelResidualFn.apply(*inputs, dropout_p, epsilon, *options)


class DropoutAddLayerNorm(torch.nn.Module):
    """Layer normalization with dropout and a residual; see :func:`dropout_add_layer_norm`."""

    def __init__(
        self,
        hidden_size: int,
        prenorm: bool = False,
        p: float = 0.0,
        eps: float = 1e-5,
        residual_in_fp32: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.prenorm, self.p, self.eps, self.residual_in_fp32 = prenorm, p, eps, residual_in_fp32
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.bias = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Make the parameters neutral."""
        torch.nn.init.ones_(self.weight)
        torch.nn.init.zeros_(self.bias)

    def forward(self, x0: Tensor, residual: Tensor | None = None) -> Any:
        """Normalize; see :func:`dropout_add_layer_norm`."""
        options = self.p if self.training else 0.0, self.eps, None, None, self.prenorm, self.residual_in_fp32
        return dropout_add_layer_norm(x0, residual, self.weight, self.bias, *options)
