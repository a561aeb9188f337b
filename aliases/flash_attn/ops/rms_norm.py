"""Root mean square normalization of dropped-out inputs and a residual."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .dropout_norms import (
    DropoutAddLayerNormFn,
    DropoutAddLayerNormParallelResidualFn,
    DropoutAddLayerNormSubsetFn,
)


def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Divide the last dimension of ``x`` by its root mean square."""
    return DropoutAddLayerNormFn.apply(  # type: ignore[no-any-return]
        x, None, weight, None, None, None, 0.0, epsilon, False, False, True
    )


def dropout_add_rms_norm(
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
    """Do what :func:`.layer_norm.dropout_add_layer_norm` does, and leave the mean in."""
    options = rowscale, layerscale, dropout_p, epsilon, residual_in_fp32, prenorm, True
    return DropoutAddLayerNormFn.apply(x0, residual, weight, bias, *options, return_dropout_mask)


def dropout_add_rms_norm_subset(
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
    """Do what :func:`.layer_norm.dropout_add_layer_norm_subset` does, and leave the mean in."""
    subset = layerscale, x0_subset, out_subset, dropout_p, epsilon, rowscale_const, out_numrows
    options = residual_in_fp32, prenorm, True, return_dropout_mask
    return DropoutAddLayerNormSubsetFn.apply(x0, residual, weight, bias, *subset, *options)


def dropout_add_rms_norm_parallel_residual(
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
    """Do what :func:`.layer_norm.dropout_add_layer_norm_parallel_residual` does, and leave the mean in."""
    inputs = x0, x1, residual, weight0, bias0, weight1, bias1
    options = residual_in_fp32, prenorm, True, return_dropout_mask
    return DropoutAddLayerNormParallelResidualFn.apply(*inputs, dropout_p, epsilon, *options)


class RMSNorm(torch.nn.Module):
    """Root mean square normalization."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Make the weight neutral."""
        torch.nn.init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last dimension of ``x``."""
        return rms_norm(x, self.weight, self.eps)


class DropoutAddRMSNorm(torch.nn.Module):
    """Root mean square normalization with dropout and a residual; see :func:`dropout_add_rms_norm`."""

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
        self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Make the weight neutral."""
        torch.nn.init.ones_(self.weight)

    def forward(self, x0: Tensor, residual: Tensor | None = None) -> Any:
        """Normalize; see :func:`dropout_add_rms_norm`."""
        options = self.p if self.training else 0.0, self.eps, None, None, self.prenorm, self.residual_in_fp32
        return dropout_add_rms_norm(x0, residual, self.weight, None, *options)
