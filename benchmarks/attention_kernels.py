"""Attention as hand-ported code calls it: torch's function, or the vendor's fused operator."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]

_CAUSAL, _BAND = 3, 4  # npu_fusion_attention's sparse modes, which count from the last query and key


def dense(backend: str, causal: bool, queries: int, keys: int) -> Attention:
    """Return attention on tensors in flash_attn's layout."""
    if backend == "npu":
        return _fused("BSND", **({"sparse_mode": _CAUSAL, "atten_mask": _later()} if causal else {}))
    if causal and queries != keys:
        return _torchs(attn_mask=causal_lower_right(queries, keys))
    return _torchs(is_causal=causal)


def window(backend: str, size: int, tokens: int) -> Attention:
    """Return causal attention in which a query sees ``size`` keys; torch needs a mask for it."""
    if backend == "npu":
        band = {"sparse_mode": _BAND, "pre_tockens": size - 1, "next_tockens": 0}
        return _fused("BSND", atten_mask=_later(), **band)
    row, column = torch.arange(tokens, device="cuda")[:, None], torch.arange(tokens, device="cuda")
    return _torchs(attn_mask=(column <= row) & (column > row - size))


def packed(backend: str, lengths: list[int]) -> Attention:
    """Return causal attention of packed sequences in one tensor; torch needs a loop for it."""
    if backend == "npu":
        ends = list(itertools.accumulate(lengths))
        bounds = {"actual_seq_qlen": ends, "actual_seq_kvlen": ends}
        return _fused("TND", sparse_mode=_CAUSAL, atten_mask=_later(), **bounds)
    attend = _torchs(is_causal=True)

    def each_alone(*tensors: Tensor) -> Tensor:
        parts = zip(*(each.split(lengths) for each in tensors), strict=True)
        return torch.cat([attend(*(each[None] for each in part))[0] for part in parts])

    return each_alone


def _torchs(**options: Any) -> Attention:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        by_head = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        out = scaled_dot_product_attention(*by_head, enable_gqa=q.shape[2] != k.shape[2], **options)
        return out.transpose(1, 2)

    return attend


def _fused(layout: str, **options: Any) -> Attention:
    import torch_npu

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        heads, scale = q.shape[-2], q.shape[-1] ** -0.5
        out: Tensor = torch_npu.npu_fusion_attention(q, k, v, heads, layout, scale=scale, **options)[0]
        return out

    return attend


def _later() -> Tensor:
    return torch.ones(2048, 2048, dtype=torch.bool, device="cuda").triu_(1)
