"""Attention on Ascend with the vendor's fused operators, for dense batches and for packed sequences.

Their documentation: torch_npu.npu_fusion_attention at https://www.hiascend.com/document.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .options import Attention, Gradients, Saved

_ALL = 2**31 - 1
_CAUSAL, _BAND = 3, 4  # sparse modes that count from the last query and key, with a mask of a fixed size

Lengths = tuple[Sequence[int], Sequence[int]]


def direct(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor | None:
    """Compute attention, differentiably; see :func:`morph.aliases.attention.kernels.direct`."""
    attention = _plain(scale, causal)
    if torch._C._is_any_autocast_enabled() or not takes(attention, query, value):
        return None
    out, *_ = _outputs(attention, query, key, value)
    return out


def takes(attention: Attention, query: Tensor, value: Tensor) -> bool:
    """Return whether the operators exist and compute exactly this."""
    plain = attention.softcap == 0 and attention.dropout == 0 and attention.chunk == 0
    sizes = query.shape[-1] == value.shape[-1] and query.shape[-1] % 16 == 0
    return plain and not attention.biased and sizes and hasattr(torch.ops.npu, "npu_fusion_attention")


def takes_packed(attention: Attention, lengths: Lengths) -> bool:
    """Return whether the operators accept sequences of these lengths at once: every query sees a key."""
    pairs = list(zip(*lengths, strict=True))
    blind = attention.right >= 0 and any(queries > keys + attention.right for queries, keys in pairs)
    return not blind and min(map(min, pairs)) > 0


def forward(attention: Attention, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Compute attention; see :func:`morph.aliases.attention.kernels.forward`."""
    first = attention.tile(query.shape[1], key.shape[1]).first
    if first == 0:
        return _forward(attention, query, key, value)
    out = torch.zeros_like(query)
    lse = query.new_full((query.shape[0], query.shape[2], query.shape[1]), math.inf, dtype=torch.float32)
    if first < query.shape[1]:
        out[:, first:], lse[:, :, first:] = _forward(attention, query[:, first:], key, value)
    return out, lse


def backward(attention: Attention, saved: Saved) -> Gradients:
    """Compute the gradients; see :func:`morph.aliases.attention.kernels.backward`."""
    grad, query, key, value, out, lse = saved
    first = attention.tile(query.shape[1], key.shape[1]).first
    if first == 0:
        return _backward(attention, saved)
    query_grad = torch.zeros_like(query)
    if first == query.shape[1]:
        return query_grad, torch.zeros_like(key), torch.zeros_like(value)
    seeing = Saved(grad[:, first:], query[:, first:], key, value, out[:, first:], lse[:, :, first:])
    query_grad[:, first:], key_grad, value_grad = _backward(attention, seeing)
    return query_grad, key_grad, value_grad


def forward_packed(
    attention: Attention, query: Tensor, key: Tensor, value: Tensor, lengths: Lengths
) -> tuple[Tensor, Tensor]:
    """Compute attention within sequences; :func:`forward`."""
    out, lse = _forward(attention, query, key, value, lengths)
    return out, lse.T.contiguous()


def backward_packed(attention: Attention, saved: Saved, lengths: Lengths) -> Gradients:
    """Compute the gradients of :func:`forward_packed`."""
    return _backward(attention, saved._replace(lse=saved.lse.T), lengths)


def _forward(
    attention: Attention, query: Tensor, key: Tensor, value: Tensor, lengths: Lengths | None = None
) -> tuple[Tensor, Tensor]:
    out, largest, total, *_ = _outputs(attention, query, key, value, lengths)
    return out, largest[..., 0] + total[..., 0].log()  # each value is repeated eight times


def _outputs(
    attention: Attention, query: Tensor, key: Tensor, value: Tensor, lengths: Lengths | None = None
) -> tuple[Tensor, ...]:
    options = _options(attention, query, lengths)
    heads, scale = query.shape[-2], attention.scale
    return torch.ops.npu.npu_fusion_attention(query, key, value, heads, scale=scale, **options)  # type: ignore[no-any-return]


def _backward(attention: Attention, saved: Saved, lengths: Lengths | None = None) -> Gradients:
    grad, query, key, value, out, lse = saved
    largest = lse[..., None].expand(*lse.shape, 8).contiguous()
    statistics = {"softmax_max": largest, "softmax_sum": torch.ones_like(largest), "attention_in": out}
    options = _options(attention, query, lengths)
    query_grad, key_grad, value_grad, *_ = torch.ops.npu.npu_fusion_attention_grad(
        query, key, value, grad, query.shape[-2], scale_value=attention.scale, **statistics, **options
    )
    return query_grad, key_grad, value_grad


def _options(attention: Attention, query: Tensor, lengths: Lengths | None) -> dict[str, Any]:
    """Return the options for the input layout and the hidden keys."""
    options: dict[str, Any] = {"input_layout": "BSND"}
    if lengths is not None:
        ends = ([sum(each[: i + 1]) for i in range(len(each))] for each in lengths)
        options = dict(zip(("actual_seq_qlen", "actual_seq_kvlen"), ends, strict=True), input_layout="TND")
    if attention.left < 0 and attention.right == 0:
        options |= {"sparse_mode": _CAUSAL, "atten_mask": _later(query.device)}
    elif attention.left >= 0 or attention.right >= 0:
        left, right = (_ALL if each < 0 else each for each in (attention.left, attention.right))
        options |= {"sparse_mode": _BAND, "atten_mask": _later(query.device)}
        options |= {"pre_tockens": left, "next_tockens": right}
    return options


@functools.lru_cache(64)
def _plain(scale: float, causal: bool) -> Attention:
    return Attention(scale, right=0 if causal else -1)


@functools.cache
def _later(device: torch.device) -> Tensor:
    """Return the mask that the sparse modes expect for all lengths."""
    return torch.ones(2048, 2048, dtype=torch.bool, device=device).triu_(1)
