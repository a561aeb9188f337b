"""Both norms of dropped-out inputs and a residual, in float32: for one input, some rows, or two inputs."""

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
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    """Apply dropout to an input, add a residual, and normalize.

    Args:
        is_rms_norm: Whether the mean is not subtracted.
        x0: Of shape (..., hidden size).
        residual: Of the same shape, or None.
        weight: Of shape (hidden size,).
        bias: Of shape (hidden size,), or None.
        dropout_p: The probability that an element of ``x0`` is dropped.
        epsilon: The value added to the variance.
        rowscale: The factor of each row of ``x0``.
        layerscale: The factor of each column of ``x0``.
        prenorm: Whether the sum is also returned.
        residual_in_fp32: Whether the sum is float32 if there is no residual that determines its dtype.
        return_dropout_mask: Whether the dropout mask is also returned.

    Returns:
        The result in the dtype of ``x0``; with ``prenorm`` also the sum; with ``return_dropout_mask`` also
        a uint8 mask of the kept elements.
    """
    summed = add_up(x0, residual, None, dropout_p, rowscale, layerscale)
    results = [normalize(summed.total, weight, bias, epsilon, is_rms_norm, x0.dtype)]
    results += [summed.total.to(residual_dtype(x0, residual, residual_in_fp32))] if prenorm else []
    return _delivered(results, [_mask(summed.kept, x0)] if return_dropout_mask else [])


def dropout_add_norm_subset(
    is_rms_norm: bool,
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
    """Do what :func:`dropout_add_norm` does, for some rows: the residual has all of them.

    ``x0_subset`` is int32 with one element per row: the index of the row in ``x0``, from 1; 0 for a row of
    zeros. ``out_subset`` likewise maps rows to the ``out_numrows`` rows of the result. ``x0`` is multiplied
    by ``rowscale_const``.
    """
    rest, rows = x0.shape[1:], x0.reshape(-1, weight.numel())
    summed = add_up(rows * rowscale_const, None, None, dropout_p, None, layerscale)
    total = summed.total
    if x0_subset is not None:
        with_zeros = torch.cat([total.new_zeros(1, total.shape[1]), total])
        total = with_zeros[x0_subset.flatten().long()]
    if residual is not None:
        total = total + residual.reshape(total.shape)
    normalized = normalize(total, weight, bias, epsilon, is_rms_norm, x0.dtype)
    if out_subset is not None:
        out = normalized.new_zeros(out_numrows + 1, normalized.shape[1])
        normalized = out.index_copy(0, out_subset.flatten().long(), normalized)[1:]
    results = [normalized.view(-1, *rest)]
    if prenorm:
        results.append(total.to(residual_dtype(x0, residual, residual_in_fp32)).view(-1, *rest))
    return _delivered(results, [_mask(summed.kept, rows).view(x0.shape)] if return_dropout_mask else [])


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
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    """Apply dropout to two inputs, add them and a residual, and normalize the sum with two weights.

    See :func:`dropout_add_norm` for the arguments.

    Returns:
        Both results, the second one None without ``weight1``; with ``prenorm`` also the sum; with
        ``return_dropout_mask`` also uint8 masks of the kept elements of ``x0`` and ``x1``.
    """
    summed = add_up(x0, residual, x1, dropout_p)
    results: list[Any] = [normalize(summed.total, weight0, bias0, epsilon, is_rms_norm, x0.dtype), None]
    if weight1 is not None:
        results[1] = normalize(summed.total, weight1, bias1, epsilon, is_rms_norm, x0.dtype)
    results += [summed.total.to(residual_dtype(x0, residual, residual_in_fp32))] if prenorm else []
    kept = (summed.kept, summed.kept1) if return_dropout_mask else ()
    return _delivered(results, [_mask(each, x0) for each in kept])


class DropoutAddNorm(torch.nn.Module):
    """One of the norms as a module, with dropout in training; see :func:`dropout_add_norm`."""

    is_rms_norm: bool
    bias: torch.nn.Parameter | None

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
        bias = None if self.is_rms_norm else torch.nn.Parameter(torch.empty_like(self.weight))
        self.register_parameter("bias", bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to one and the bias to zero."""
        torch.nn.init.ones_(self.weight)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x0: Tensor, residual: Tensor | None = None) -> Any:
        """Apply dropout to ``x0`` in training, add the residual, and normalize."""
        options = self.p if self.training else 0.0, self.eps, None, None, self.prenorm, self.residual_in_fp32
        return dropout_add_norm(self.is_rms_norm, x0, residual, self.weight, self.bias, *options)


class DropoutAddLayerNormFn:
    """An autograd function in flash_attn; here torch differentiates it automatically."""

    @staticmethod
    def apply(x0: Tensor, residual: Any, gamma: Tensor, beta: Any, *options: Any) -> Any:
        """Normalize; the first options are the scales and whether the mean is not subtracted."""
        rowscale, colscale, dropout_p, epsilon, *flags = options
        in_fp32, prenorm, is_rms_norm, mask = [*flags, False, False, False, False][:4]
        scales = rowscale, colscale, prenorm, in_fp32, mask
        return dropout_add_norm(is_rms_norm, x0, residual, gamma, beta, dropout_p, epsilon, *scales)


class DropoutAddLayerNormSubsetFn:
    """Like :class:`DropoutAddLayerNormFn`, for some rows."""

    @staticmethod
    def apply(x0: Tensor, residual: Any, gamma: Tensor, beta: Any, *options: Any) -> Any:
        """Normalize; see :func:`dropout_add_norm_subset`."""
        colscale, x0_subset, out_subset, dropout_p, epsilon, rowscale_const, out_numrows, *flags = options
        in_fp32, prenorm, is_rms_norm, mask = [*flags, False, False, False, False][:4]
        subset = colscale, x0_subset, out_subset, rowscale_const, out_numrows, prenorm, in_fp32, mask
        return dropout_add_norm_subset(is_rms_norm, x0, residual, gamma, beta, dropout_p, epsilon, *subset)


class DropoutAddLayerNormParallelResidualFn:
    """Like :class:`DropoutAddLayerNormFn`, for two inputs."""

    @staticmethod
    def apply(x0: Tensor, x1: Any, residual: Any, gamma0: Tensor, *options: Any) -> Any:
        """Normalize; see :func:`dropout_add_norm_parallel_residual`."""
        beta0, gamma1, beta1, dropout_p, epsilon, *flags = options
        in_fp32, prenorm, is_rms_norm, mask = [*flags, False, False, False, False][:4]
        weights = gamma0, beta0, gamma1, beta1, dropout_p, epsilon, prenorm, in_fp32, mask
        return dropout_add_norm_parallel_residual(is_rms_norm, x0, x1, residual, *weights)


def _dropped(x: Tensor, p: float) -> tuple[Tensor, Tensor | None]:
    if p == 0:
        return x, None
    kept = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - p)
    return x * kept / (1 - p), kept


def _mask(kept: Tensor | None, x: Tensor) -> Tensor:
    return torch.ones_like(x, dtype=torch.uint8) if kept is None else kept.to(torch.uint8)


def _delivered(results: list[Any], masks: list[Tensor]) -> Any:
    return (*results, *masks) if len(results) + len(masks) > 1 else results[0]
