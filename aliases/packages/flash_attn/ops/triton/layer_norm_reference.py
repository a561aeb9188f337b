"""Normalization step by step, in the inputs' dtype: the reference of flash_attn's own tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def _layer_norm(total: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    return functional.layer_norm(total.to(weight.dtype), total.shape[-1:], weight, bias, eps)


def _rms_norm(total: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    inverse = 1 / torch.sqrt(total.square().mean(dim=-1, keepdim=True) + eps)
    return total * inverse * weight if bias is None else total * inverse * weight + bias


def _reference(
    norm: Callable[..., Tensor],
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
    """Compute what ``layer_norm_fn`` does; see there. ``upcast`` computes in float32."""
    assert x1 is None or rowscale is None, "rowscale is not supported with parallel LayerNorm"
    total, offset = _cast(x, upcast), 1.0 if zero_centered_weight else 0.0
    total = _dropped(total if rowscale is None else total * rowscale[..., None], dropout_p, dropout_mask)
    if x1 is not None:
        total = total + _dropped(_cast(x1, upcast), dropout_p, dropout_mask1)
    if residual is not None:
        total = (total + _cast(residual, upcast)).to(total.dtype)
    pairs = [(weight, bias), (weight1, bias1)]
    weights = [(_cast(w, upcast) + offset, _cast(b, upcast)) for w, b in pairs if w is not None]
    results = [norm(total, *each, eps).to(x.dtype) for each in weights] + ([total] if prenorm else [])
    return tuple(results) if len(results) > 1 else results[0]


def _cast(tensor: Any, upcast: bool) -> Any:
    return tensor.float() if upcast and tensor is not None else tensor


def _dropped(x: Tensor, p: float, mask: Tensor | None) -> Tensor:
    if p == 0:
        return x
    return functional.dropout(x, p=p) if mask is None else x.masked_fill(~mask, 0.0) / (1.0 - p)


layer_norm_ref = partial(_reference, _layer_norm)
rms_norm_ref = partial(_reference, _rms_norm)
