"""Normalization step by step, in the dtype of the inputs: what flash_attn's own tests compare with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def layer_norm_ref(
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
    zero_centered_weight: bool = False,
    dropout_mask: Tensor | None = None,
    dropout_mask1: Tensor | None = None,
    upcast: bool = False,
) -> Any:
    """Compute what ``layer_norm_fn`` does; see there. ``upcast`` does so in float32."""
    inputs = _cast(x, upcast), _cast(residual, upcast), _cast(x1, upcast)
    total = _sum(*inputs, dropout_p, rowscale, dropout_mask, dropout_mask1)
    pairs = [(weight, bias)] + ([(weight1, bias1)] if weight1 is not None else [])
    results = []
    for scale, shift in pairs:
        wide = _cast(scale, upcast) + (1.0 if zero_centered_weight else 0.0)
        shift = _cast(shift, upcast)
        results.append(
            functional.layer_norm(total.to(wide.dtype), total.shape[-1:], wide, shift, eps).to(x.dtype)
        )
    return _delivered(results, total, prenorm)


def rms_norm_ref(
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
    zero_centered_weight: bool = False,
    dropout_mask: Tensor | None = None,
    dropout_mask1: Tensor | None = None,
    upcast: bool = False,
) -> Any:
    """Compute what ``rms_norm_fn`` does; see there. ``upcast`` does so in float32."""
    inputs = _cast(x, upcast), _cast(residual, upcast), _cast(x1, upcast)
    total = _sum(*inputs, dropout_p, rowscale, dropout_mask, dropout_mask1)
    inverse = 1 / torch.sqrt(total.square().mean(dim=-1, keepdim=True) + eps)
    pairs = [(weight, bias)] + ([(weight1, bias1)] if weight1 is not None else [])
    results = []
    for scale, shift in pairs:
        wide = _cast(scale, upcast) + (1.0 if zero_centered_weight else 0.0)
        normalized = total * inverse * wide
        results.append((normalized if shift is None else normalized + _cast(shift, upcast)).to(x.dtype))
    return _delivered(results, total, prenorm)


def _cast(tensor: Any, upcast: bool) -> Any:
    return tensor.float() if upcast and tensor is not None else tensor


def _sum(
    x: Tensor,
    residual: Tensor | None,
    x1: Tensor | None,
    dropout_p: float,
    rowscale: Tensor | None,
    mask: Tensor | None,
    mask1: Tensor | None,
) -> Tensor:
    assert x1 is None or rowscale is None, "rowscale is not supported with parallel LayerNorm"
    if rowscale is not None:
        x = x * rowscale[..., None]
    x = _dropped(x, dropout_p, mask)
    if x1 is not None:
        x = x + _dropped(x1, dropout_p, mask1)
    return x if residual is None else (x + residual).to(x.dtype)


def _dropped(x: Tensor, p: float, mask: Tensor | None) -> Tensor:
    if p == 0:
        return x
    return functional.dropout(x, p=p) if mask is None else x.masked_fill(~mask, 0.0) / (1.0 - p)


def _delivered(results: list[Tensor], total: Tensor, prenorm: bool) -> Any:
    results = [*results, total] if prenorm else results
    return tuple(results) if len(results) > 1 else results[0]
