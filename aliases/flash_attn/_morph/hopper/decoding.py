"""Attention of flash_attn 3 over a cache, and over parts of the keys."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..checks import require
from .attention import forward


def flash_attn_with_kvcache(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: Tensor | None = None,
    v: Tensor | None = None,
    qv: Tensor | None = None,
    rotary_cos: Tensor | None = None,
    rotary_sin: Tensor | None = None,
    cache_seqlens: int | Tensor | None = None,
    cache_batch_idx: Tensor | None = None,
    cache_leftpad: Tensor | None = None,
    page_table: Tensor | None = None,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k_new: Tensor | None = None,
    max_seqlen_q: int | None = None,
    rotary_seqlens: Tensor | None = None,
    q_descale: Tensor | None = None,
    k_descale: Tensor | None = None,
    v_descale: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    scheduler_metadata: Tensor | None = None,
    num_splits: int = 0,
    pack_gqa: bool | None = None,
    sm_margin: int = 0,
    return_softmax_lse: bool = False,
) -> Any:
    """Compute attention over a cache, to which ``k`` and ``v`` are added in place first; without gradients.

    See :func:`flash_attn.flash_attn_with_kvcache` for the cache, with pages of any size in ``page_table``,
    and :func:`.attention.forward` for all other arguments.

    Returns:
        The output; with ``return_softmax_lse`` also the logarithm of the softmax's sums, and two empty
        tensors.
    """
    assert k_cache.stride(-1) == 1, "k_cache must have contiguous last dimension"
    assert v_cache.stride(-1) == 1, "v_cache must have contiguous last dimension"
    if isinstance(cache_seqlens, int):
        batch_size = q.shape[0] if cu_seqlens_q is None else len(cu_seqlens_q) - 1
        device = k_cache.device
        cache_seqlens = torch.full((batch_size,), cache_seqlens, dtype=torch.int32, device=device)
    out, *rest = forward(
        q.contiguous() if q.stride(-1) != 1 else q,
        k_cache,
        v_cache,
        k,
        v,
        qv,
        cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_k_new=cu_seqlens_k_new,
        seqused_k=cache_seqlens,
        max_seqlen_q=max_seqlen_q,
        page_table=page_table,
        kv_batch_idx=cache_batch_idx,
        leftpad_k=cache_leftpad,
        rotary_cos=rotary_cos,
        rotary_sin=rotary_sin,
        seqlens_rotary=rotary_seqlens,
        q_descale=q_descale,
        k_descale=k_descale,
        v_descale=v_descale,
        softmax_scale=softmax_scale,
        causal=causal,
        window_size_left=window_size[0],
        window_size_right=window_size[1],
        attention_chunk=attention_chunk,
        softcap=softcap,
        rotary_interleaved=rotary_interleaved,
    )
    return (out, *rest) if return_softmax_lse else out


def flash_attn_combine(
    out_partial: Tensor, lse_partial: Tensor, out: Tensor | None = None, out_dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Combine attention over parts of the keys.

    Args:
        out_partial: float32 of shape (parts, batch, queries, heads, size), or without the dimension of the
            batch.
        lse_partial: The logarithms of the sums, float32 of shape (parts, batch, queries, heads), likewise.
        out: Where to put the output; None for a new tensor.
        out_dtype: Of the output; None for float32.

    Returns:
        The output over all keys, and the logarithm of its sums.

    Raises:
        RuntimeError: If the inputs are not float32.
    """
    message = "Attention combine function only support fp32 data type"
    require(out_partial.dtype == lse_partial.dtype == torch.float32, message)
    lse = lse_partial.logsumexp(0)
    weights = (lse_partial - lse).exp().nan_to_num(0.0)
    total = (out_partial * weights[..., None]).sum(0)
    return total.to(out_dtype or torch.float32) if out is None else out.copy_(total), lse


def get_scheduler_metadata(
    batch_size: int,
    max_seqlen_q: int,
    max_seqlen_k: int,
    num_heads_q: int,
    num_heads_kv: int,
    headdim: int,
    cache_seqlens: Tensor,
    qkv_dtype: torch.dtype = torch.bfloat16,
    headdim_v: int | None = None,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k_new: Tensor | None = None,
    cache_leftpad: Tensor | None = None,
    page_size: int | None = None,
    max_seqlen_k_new: int = 0,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    has_softcap: bool = False,
    num_splits: int = 0,
    pack_gqa: bool | None = None,
    sm_margin: int = 0,
) -> Tensor:
    """Return zeros, to be given to :func:`flash_attn_with_kvcache` as ``scheduler_metadata``."""
    return cache_seqlens.new_zeros(batch_size + 1, dtype=torch.int32)
