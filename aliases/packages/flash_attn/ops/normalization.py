"""Both norms of dropped-out inputs and a residual, in float32, for one input or two."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def normalized(
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
    colscale: Tensor | None = None,
    is_rms_norm: bool = False,
    out_dtype: torch.dtype | None = None,
) -> tuple[list[Tensor], Tensor, Tensor | None, Tensor | None]:
    """Apply dropout to ``x``, scaled by row and column, and to ``x1``, add a residual, and normalize the sum.

    Returns:
        The results, one for each weight, in ``out_dtype`` or the dtype of ``x``; the sum in float32, so
        that the norm's input is not rounded; and which elements of ``x`` and of ``x1`` were kept, if some
        were not.
    """
    total = x.float() if rowscale is None else x.float() * rowscale.reshape(*x.shape[:-1], 1)
    total, kept = _dropped(total if colscale is None else total * colscale, dropout_p)
    kept1 = None
    if x1 is not None:
        second, kept1 = _dropped(x1.float(), dropout_p)
        total = total + second
    total = total if residual is None else total + residual
    pairs = [(weight, bias)] if weight1 is None else [(weight, bias), (weight1, bias1)]
    results = [_norm(total, *pair, eps, is_rms_norm).to(out_dtype or x.dtype) for pair in pairs]
    return results, total, kept, kept1


def dropout_add_norm(
    x0: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    dropout_p: float,
    epsilon: float,
    rowscale: Tensor | None = None,
    layerscale: Tensor | None = None,
    is_rms_norm: bool = False,
    others: tuple[Tensor | None, Tensor | None, Tensor | None] | None = None,
    **wanted: bool,
) -> Any:
    """Normalize one input, or with ``others``, an input, a weight and a bias, their sum with both weights.

    Returns:
        The result in the dtype of ``x0``, with ``others`` two; with ``prenorm`` also the sum; with
        ``return_dropout_mask`` also a uint8 mask of the kept elements of each input.
    """
    options: dict[str, Any] = {"eps": epsilon, "dropout_p": dropout_p, "is_rms_norm": is_rms_norm}
    options |= {"rowscale": rowscale, "colscale": layerscale}
    more = (None, None, None) if others is None else others
    results, total, *kept = normalized(x0, weight, bias, residual, *more, **options)
    if others is None:
        return _delivered(results, total, x0, residual, kept[:1], **wanted)
    both = [*results, None] if len(results) == 1 else results
    return _delivered(both, total, x0, residual, kept, **wanted)


def residual_dtype(x: Tensor, residual: Tensor | None, in_fp32: bool) -> torch.dtype:
    """Return the dtype of the sum: that of the residual, or without one that of ``x`` or float32."""
    if residual is not None:
        return residual.dtype
    return torch.float32 if in_fp32 else x.dtype


class Norm(torch.nn.Module):
    """A norm with its parameters: a weight of ``start``, and a bias if there is one."""

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
    """One of the norms as a module, with dropout in training."""

    is_rms_norm: bool

    def make_with_dropout(self, hidden_size: int, device: Any, dtype: Any, **options: Any) -> None:
        """Set the options and make the parameters."""
        self.prenorm, self.residual_in_fp32 = options["prenorm"], options["residual_in_fp32"]
        self.p, self.eps = options["p"], options["eps"]
        self.make(hidden_size, not self.is_rms_norm, device=device, dtype=dtype)

    def forward(self, x0: Tensor, residual: Tensor | None = None) -> Any:
        """Apply dropout to ``x0`` in training, add the residual, and normalize."""
        options: dict[str, Any] = {"prenorm": self.prenorm, "residual_in_fp32": self.residual_in_fp32}
        options |= {"dropout_p": self.p if self.training else 0.0, "epsilon": self.eps}
        return dropout_add_norm(x0, residual, self.weight, self.bias, **options, is_rms_norm=self.is_rms_norm)


def _norm(total: Tensor, weight: Tensor, bias: Tensor | None, eps: float, is_rms_norm: bool) -> Tensor:
    shape, wide = total.shape[-1:], None if bias is None else bias.float()
    with torch.autocast(total.device.type, enabled=False):
        if not is_rms_norm:
            return functional.layer_norm(total, shape, weight.float(), wide, eps)
        result = functional.rms_norm(total, shape, weight.float(), eps)
        return result if wide is None else result + wide


def _dropped(x: Tensor, p: float) -> tuple[Tensor, Tensor | None]:
    if p == 0:
        return x, None
    kept = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - p)
    return x * kept / (1 - p), kept


def _delivered(
    results: list[Any],
    total: Tensor,
    x0: Tensor,
    residual: Tensor | None,
    kept: list[Any],
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    if prenorm:
        results = [*results, total.to(residual_dtype(x0, residual, residual_in_fp32))]
    if return_dropout_mask:
        masks = [torch.ones_like(x0, dtype=torch.bool) if each is None else each for each in kept]
        results = [*results, *(each.to(torch.uint8) for each in masks)]
    return tuple(results) if len(results) > 1 else results[0]
