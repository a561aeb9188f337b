"""Attention over a cache to which new tokens are added, as one operator that changes the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from . import second, third
from .differentiable import operator

Two = tuple[Tensor, Tensor]
_SIGNATURE = (
    "(release, q, k_cache, v_cache, k_new=None, v_new=None, qv=None, cu_seqlens_q=None, seqused_k=None, "
    "rotary_cos=None, rotary_sin=None, rotary_seqlens=None, cache_batch_idx=None, cache_leftpad=None, "
    "block_table=None, alibi_slopes=None, q_descale=None, k_descale=None, v_descale=None, "
    "softmax_scale=None, causal=False, window_size_left=-1, window_size_right=-1, attention_chunk=0, "
    "softcap=0.0, rotary_interleaved=True)"
)


def _computed(fields: Mapping[str, Any], others: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    return second.with_cache(fields) if others["release"] == 2 else third.forward(fields, others)


OVER_CACHE = operator(
    "flash_attn::_fwd_kvcache", _SIGNATURE, _computed, third.attended, Two, ("k_cache", "v_cache")
)


def lengths_of(cache_seqlens: int | Tensor | None, batch_size: int, device: torch.device) -> Tensor | None:
    """Return the lengths of sequences in a cache as a tensor, if there are any."""
    if isinstance(cache_seqlens, int):
        return torch.full((batch_size,), cache_seqlens, dtype=torch.int32, device=device)
    return cache_seqlens
