"""Both norms of dropped-out inputs and a residual, in float32: for one input or two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Summed:
    """The summed inputs of a norm.

    Attributes:
        total: In float32, so that the norm's input is not rounded to the residual's dtype.
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
    """Apply dropout to ``x``, scaled by row and column, and to ``x1``, and add a residual."""
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
    """Normalize the last dimension of a float32 tensor, by its root mean square with or without its mean."""
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


def dropout_add_norm(
    is_rms_norm: bool,
    x0: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    dropout_p: float,
    epsilon: float,
    rowscale: Tensor | None = None,
    layerscale: Tensor | None = None,
    **wanted: bool,
) -> Any:
    """Apply dropout to an input, scaled by row and column, add a residual, and normalize.

    Returns:
        The result in the dtype of ``x0``; with ``prenorm`` also the sum; with ``return_dropout_mask`` also
        a uint8 mask of the kept elements.
    """
    summed = add_up(x0, residual, None, dropout_p, rowscale, layerscale)
    results = [normalize(summed.total, weight, bias, epsilon, is_rms_norm, x0.dtype)]
    return _delivered(results, summed, x0, residual, [summed.kept], **wanted)


def dropout_add_norm_parallel_residual(
    is_rms_norm: bool,
    x0: Tensor,
    x1: Tensor | None,
    residual: Tensor | None,
    weight0: Tensor,
    bias0: Tensor | None,
    weight1: Tensor | None,
    bias1: Tensor | None,
    dropout_p: float,
    epsilon: float,
    **wanted: bool,
) -> Any:
    """Apply dropout to two inputs, add them and a residual, and normalize the sum with two weights.

    Returns:
        Both results, the second one None without ``weight1``; with ``prenorm`` also the sum; with
        ``return_dropout_mask`` also uint8 masks of the kept elements of ``x0`` and ``x1``.
    """
    summed = add_up(x0, residual, x1, dropout_p)
    results: list[Any] = [normalize(summed.total, weight0, bias0, epsilon, is_rms_norm, x0.dtype), None]
    if weight1 is not None:
        results[1] = normalize(summed.total, weight1, bias1, epsilon, is_rms_norm, x0.dtype)
    return _delivered(results, summed, x0, residual, [summed.kept, summed.kept1], **wanted)


class Norm(torch.nn.Module):
    """A norm with its parameters: a weight of ``start``, and a bias unless it is None."""

    weight: torch.nn.Parameter
    bias: torch.nn.Parameter | None
    start = 1.0

    def make(self, hidden_size: int, has_bias: bool, **where: Any) -> None:
        """Make the parameters."""
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, **where))
        bias = torch.nn.Parameter(torch.empty_like(self.weight)) if has_bias else None
        self.register_parameter("bias", bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the parameters to those of a new norm."""
        torch.nn.init.constant_(self.weight, self.start)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)


class DropoutAddNorm(Norm):
    """One of the norms as a module, with dropout in training; see :func:`dropout_add_norm`."""

    is_rms_norm: bool

    def make_with_dropout(
        self, hidden_size: int, prenorm: bool, p: float, eps: float, residual_in_fp32: bool, **where: Any
    ) -> None:
        """Set the options and make the parameters."""
        self.prenorm, self.p, self.eps, self.residual_in_fp32 = prenorm, p, eps, residual_in_fp32
        self.make(hidden_size, not self.is_rms_norm, **where)

    def forward(self, x0: Tensor, residual: Tensor | None = None) -> Any:
        """Apply dropout to ``x0`` in training, add the residual, and normalize."""
        dropout_p, fp32 = self.p if self.training else 0.0, self.residual_in_fp32
        inputs = x0, residual, self.weight, self.bias, dropout_p, self.eps
        return dropout_add_norm(self.is_rms_norm, *inputs, prenorm=self.prenorm, residual_in_fp32=fp32)


def _dropped(x: Tensor, p: float) -> tuple[Tensor, Tensor | None]:
    if p == 0:
        return x, None
    kept = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - p)
    return x * kept / (1 - p), kept


def _mask(kept: Tensor | None, x: Tensor) -> Tensor:
    return torch.ones_like(x, dtype=torch.uint8) if kept is None else kept.to(torch.uint8)


def _delivered(
    results: list[Any],
    summed: Summed,
    x0: Tensor,
    residual: Tensor | None,
    kept: list[Tensor | None],
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    if prenorm:
        results.append(summed.total.to(residual_dtype(x0, residual, residual_in_fp32)))
    if return_dropout_mask:
        results.extend(_mask(each, x0) for each in kept)
    return tuple(results) if len(results) > 1 else results[0]
