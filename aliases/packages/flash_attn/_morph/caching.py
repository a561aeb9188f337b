"""Attention over a cache to which new tokens are added, as one operator that changes the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

from . import second, third
from .differentiable import operator
from .fields import fields_of
from .original import written

_SIGNATURE = (
    "(release, q, k_cache, v_cache, k_new=None, v_new=None, qv=None, cu_seqlens_q=None, seqused_k=None, "
    "rotary_cos=None, rotary_sin=None, rotary_seqlens=None, cache_batch_idx=None, cache_leftpad=None, "
    "block_table=None, alibi_slopes=None, q_descale=None, k_descale=None, v_descale=None, "
    "softmax_scale=None, causal=False, window_size_left=-1, window_size_right=-1, attention_chunk=0, "
    "softcap=0.0, rotary_interleaved=True)"
)


@custom_op("flash_attn::_fwd_kvcache", mutates_args=("k_cache", "v_cache"))
@written(_SIGNATURE)
def _fwd_kvcache(release: int, **arguments: Any) -> tuple[Tensor, Tensor]:
    return _computed(fields_of(arguments), {"release": release})


@written(_SIGNATURE)
def _fake(q: Tensor, v_cache: Tensor, **others: Any) -> tuple[Tensor, Tensor]:
    return third.attended(q, v_cache)


def _computed(fields: Mapping[str, Any], others: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    return second.with_cache(fields) if others["release"] == 2 else third.forward(fields, others)


OVER_CACHE = operator(_fwd_kvcache, _fake, _computed)


def lengths_of(cache_seqlens: int | Tensor | None, batch_size: int, device: torch.device) -> Tensor | None:
    """Return the lengths of sequences in a cache as a tensor, if there are any."""
    if isinstance(cache_seqlens, int):
        return torch.full((batch_size,), cache_seqlens, dtype=torch.int32, device=device)
    return cache_seqlens
