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

    def normalized(scale: Tensor, shift: Tensor | None) -> Tensor:
        return functional.layer_norm(total.to(scale.dtype), total.shape[-1:], scale, shift, eps)

    weights = _weights(weight, bias, weight1, bias1, zero_centered_weight, upcast)
    return _delivered([normalized(*each).to(x.dtype) for each in weights], total, prenorm)


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

    def normalized(scale: Tensor, shift: Tensor | None) -> Tensor:
        return total * inverse * scale if shift is None else total * inverse * scale + shift

    weights = _weights(weight, bias, weight1, bias1, zero_centered_weight, upcast)
    return _delivered([normalized(*each).to(x.dtype) for each in weights], total, prenorm)


def _cast(tensor: Any, upcast: bool) -> Any:
    return tensor.float() if upcast and tensor is not None else tensor


def _weights(
    weight: Tensor, bias: Any, weight1: Tensor | None, bias1: Any, zero_centered: bool, upcast: bool
) -> list[tuple[Tensor, Tensor | None]]:
    pairs = [(weight, bias)] + ([(weight1, bias1)] if weight1 is not None else [])
    offset = 1.0 if zero_centered else 0.0
    return [(_cast(scale, upcast) + offset, _cast(shift, upcast)) for scale, shift in pairs]


def _sum(x: Tensor, residual: Any, x1: Any, dropout_p: float, rowscale: Any, mask: Any, mask1: Any) -> Tensor:
    assert x1 is None or rowscale is None, "rowscale is not supported with parallel LayerNorm"
    x = _dropped(x if rowscale is None else x * rowscale[..., None], dropout_p, mask)
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
