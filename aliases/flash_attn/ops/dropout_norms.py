"""Both norms of dropped-out inputs and a residual: of one input, of some rows, and of two inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .normalization import add_up, normalize, residual_dtype


def _dropout_add_norm(
    x0: Tensor,
    residual: Tensor | None,
    gamma: Tensor,
    beta: Tensor | None,
    rowscale: Tensor | None,
    colscale: Tensor | None,
    dropout_p: float,
    epsilon: float,
    residual_in_fp32: bool = False,
    prenorm: bool = False,
    is_rms_norm: bool = False,
    return_dmask: bool = False,
) -> Any:
    summed = add_up(x0, residual, None, dropout_p, rowscale, colscale)
    results = [normalize(summed.total, gamma, beta, epsilon, is_rms_norm, x0.dtype)]
    results += [summed.total.to(residual_dtype(x0, residual, residual_in_fp32))] if prenorm else []
    return _delivered(results, [_mask(summed.kept, x0)] if return_dmask else [])


def _dropout_add_norm_subset(
    x0: Tensor,
    residual: Tensor | None,
    gamma: Tensor,
    beta: Tensor | None,
    colscale: Tensor | None,
    x0_subset: Tensor | None,
    out_subset: Tensor | None,
    dropout_p: float,
    epsilon: float,
    rowscale_const: float,
    out_numrows: int,
    residual_in_fp32: bool = False,
    prenorm: bool = False,
    is_rms_norm: bool = False,
    return_dmask: bool = False,
) -> Any:
    hidden_size, rest = gamma.numel(), x0.shape[1:]
    rows = x0.reshape(-1, hidden_size)
    summed = add_up(rows * rowscale_const, None, None, dropout_p, None, colscale)
    total = summed.total if x0_subset is None else _spread(summed.total, x0_subset)
    if residual is not None:
        total = total + residual.reshape(total.shape)
    normalized = normalize(total, gamma, beta, epsilon, is_rms_norm, x0.dtype)
    if out_subset is not None:
        normalized = _picked(normalized, out_subset, out_numrows)
    results = [normalized.view(-1, *rest)]
    if prenorm:
        results.append(total.to(residual_dtype(x0, residual, residual_in_fp32)).view(-1, *rest))
    return _delivered(results, [_mask(summed.kept, rows).view(x0.shape)] if return_dmask else [])


def _dropout_add_norm_parallel_residual(
    x0: Tensor,
    x1: Tensor | None,
    residual: Tensor | None,
    gamma0: Tensor,
    beta0: Tensor | None,
    gamma1: Tensor | None,
    beta1: Tensor | None,
    dropout_p: float,
    epsilon: float,
    residual_in_fp32: bool = False,
    prenorm: bool = False,
    is_rms_norm: bool = False,
    return_dmask: bool = False,
) -> Any:
    summed = add_up(x0, residual, x1, dropout_p)
    results: list[Any] = [normalize(summed.total, gamma0, beta0, epsilon, is_rms_norm, x0.dtype), None]
    if gamma1 is not None:
        results[1] = normalize(summed.total, gamma1, beta1, epsilon, is_rms_norm, x0.dtype)
    results += [summed.total.to(residual_dtype(x0, residual, residual_in_fp32))] if prenorm else []
    return _delivered(
        results, [_mask(each, x0) for each in (summed.kept, summed.kept1)] if return_dmask else []
    )


class DropoutAddLayerNormFn:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(_dropout_add_norm)


class DropoutAddLayerNormSubsetFn:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(_dropout_add_norm_subset)


class DropoutAddLayerNormParallelResidualFn:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(_dropout_add_norm_parallel_residual)


def _mask(kept: Tensor | None, x: Tensor) -> Tensor:
    return torch.ones_like(x, dtype=torch.uint8) if kept is None else kept.to(torch.uint8)


def _spread(rows: Tensor, subset: Tensor) -> Tensor:
    """Return all rows: those that ``subset`` counts from 1, and zeros where it has 0."""
    with_zeros = torch.cat([rows.new_zeros(1, rows.shape[1]), rows])
    return with_zeros[subset.flatten().long()]


def _picked(rows: Tensor, subset: Tensor, count: int) -> Tensor:
    """Return the rows whose places ``subset`` counts from 1."""
    out = rows.new_zeros(count + 1, rows.shape[1])
    return out.index_copy(0, subset.flatten().long(), rows)[1:]


def _delivered(results: list[Any], masks: list[Tensor]) -> Any:
    return (*results, *masks) if len(results) + len(masks) > 1 else results[0]
