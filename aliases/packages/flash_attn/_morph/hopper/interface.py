"""The functions of flash_attn 3."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor

from ..checks import require
from ..core import combined
from ..direct import attend, is_captured
from ..functions import call
from ..operators import maybe_contiguous
from .functions import FlashAttnFunc, FlashAttnQKVPackedFunc, FlashAttnVarlenFunc
from .operators import (
    _backward,
    _flash_attn_backward,
    _flash_attn_backward_fake,
    _flash_attn_forward,
    _flash_attn_forward_fake,
    setup_context,
)

USE_TRITON_ROCM = os.getenv("FLASH_ATTENTION_TRITON_AMD_ENABLE", "FALSE") == "TRUE"

flash_attn_3_gpu = torch.ops.flash_attn_3


def round_multiple(x: int, m: int) -> int:
    """Return the next multiple of ``m``."""
    return (x + m - 1) // m * m


def round_up_headdim(head_size: int) -> int:
    """Return the head size for which a kernel of flash_attn is compiled."""
    return next((size for size in (64, 96, 128, 192) if head_size <= size), 256)


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    softmax_scale: float | None = None,
    causal: bool = False,
    qv: Tensor | None = None,
    q_descale: Tensor | None = None,
    k_descale: Tensor | None = None,
    v_descale: Tensor | None = None,
    window_size: tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: bool | None = None,
    deterministic: bool = False,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Any:
    """Compute attention for a batch of sequences of one length, differentiably.

    Args:
        q: float16, bfloat16 or float8_e4m3fn, of shape (batch, queries, heads, head size).
        k: Of shape (batch, keys, key heads, head size); the key heads divide the heads.
        v: Of shape (batch, keys, key heads, value size).
        softmax_scale: The factor of the query-key products; None for 1 / sqrt(head size).
        causal: Whether a query sees no later key; queries and keys end at the same position.
        qv: Queries whose products with the values are added to the scores, of shape (batch, queries, heads,
            value size); without gradients.
        q_descale: float32 of shape (batch, key heads): the factor of 8-bit queries.
        k_descale: Likewise for the keys.
        v_descale: Likewise for the values.
        window_size: How many keys before and after its own position a query sees; -1 for all.
        attention_chunk: Queries only see keys in their own chunk of this many positions, unless it is 0.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        num_splits: Without effect on the result.
        pack_gqa: Without effect on the result.
        deterministic: Without effect: the gradients always are.
        sm_margin: Without effect on the result.
        return_attn_probs: Whether the logarithm of the softmax's sums is also returned.

    Returns:
        The output, of shape (batch, queries, heads, value size), 0 for a query that sees no key; with
        ``return_attn_probs`` also the logarithm of the sums, float32 of shape (batch, heads, queries),
        minus infinity where no key is seen.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    if qv is None and window_size == (-1, -1) and not (attention_chunk or softcap or return_attn_probs):
        out = attend(q, k, v, softmax_scale, causal)
        if out is not None:
            return out
    extra = qv, q_descale, k_descale, v_descale, window_size, attention_chunk, softcap
    speed = num_splits, pack_gqa, deterministic, sm_margin
    return call(FlashAttnFunc, q, k, v, softmax_scale, causal, *extra, *speed, return_attn_probs)


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    seqused_q: Tensor | None = None,
    seqused_k: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    qv: Tensor | None = None,
    q_descale: Tensor | None = None,
    k_descale: Tensor | None = None,
    v_descale: Tensor | None = None,
    window_size: tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: bool | None = None,
    deterministic: bool = False,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Any:
    """Compute attention within sequences of several lengths, with the options of :func:`flash_attn_func`.

    ``q`` is of shape (all queries, heads, head size), ``k`` of (all keys, key heads, head size) and ``v`` of
    (all keys, key heads, value size); the logarithm of the sums is of shape (heads, all queries).
    ``cu_seqlens_q`` and ``cu_seqlens_k``, int32 of shape (batch + 1,), are where the queries and the keys of
    each sequence begin, and the last ones end; ``max_seqlen_q`` and ``max_seqlen_k`` are the largest numbers
    in a sequence; ``seqused_q`` and ``seqused_k``, int32 of shape (batch,), are the numbers used of each one.
    """
    bounds = cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k, max_seqlen_q, max_seqlen_k
    extra = qv, q_descale, k_descale, v_descale, window_size, attention_chunk, softcap
    speed = num_splits, pack_gqa, deterministic, sm_margin
    options = softmax_scale, causal, *extra, *speed
    return call(FlashAttnVarlenFunc, q, k, v, *bounds, *options, return_attn_probs)


def flash_attn_qkvpacked_func(
    qkv: Tensor,
    softmax_scale: float | None = None,
    causal: bool = False,
    q_descale: Tensor | None = None,
    k_descale: Tensor | None = None,
    v_descale: Tensor | None = None,
    window_size: tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    deterministic: bool = False,
    num_heads_q: int | None = None,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Any:
    """Compute attention as :func:`flash_attn_func` does.

    ``qkv`` is (batch, tokens, 3, heads, head size), or (batch, tokens, heads + 2 x key heads, head size) with
    ``num_heads_q`` heads.
    """
    extra = q_descale, k_descale, v_descale, window_size, attention_chunk, softcap
    rest = deterministic, num_heads_q, sm_margin, return_attn_probs
    return call(FlashAttnQKVPackedFunc, qkv, softmax_scale, causal, *extra, *rest)


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
    :func:`flash_attn_func` for the options, and :func:`flash_attn_varlen_func` for ``cu_seqlens_q``.
    ``rotary_seqlens``, int32 of shape (batch,), is the first new position of each sequence; None for
    ``cache_seqlens``. ``cu_seqlens_k_new`` has no effect, and is refused together with ``k``.

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
    new = {"k_new": k, "v_new": v, "cu_seqlens_k_new": cu_seqlens_k_new}
    where = {"page_table": page_table, "kv_batch_idx": cache_batch_idx, "leftpad_k": cache_leftpad}
    angles = {"rotary_cos": rotary_cos, "rotary_sin": rotary_sin, "seqlens_rotary": rotary_seqlens}
    scales = {"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale}
    forward = _flash_attn_forward if is_captured() else _flash_attn_forward._init_fn
    out, *rest = forward(
        maybe_contiguous(q),
        k_cache,
        v_cache,
        qv=qv,
        cu_seqlens_q=cu_seqlens_q,
        seqused_k=cache_seqlens,
        softmax_scale=softmax_scale,
        causal=causal,
        window_size_left=window_size[0],
        window_size_right=window_size[1],
        attention_chunk=attention_chunk,
        softcap=softcap,
        rotary_interleaved=rotary_interleaved,
        **new,
        **where,
        **angles,
        **scales,
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
        out: The tensor for the output; None for a new one.
        out_dtype: The dtype of the output; None for float32.

    Returns:
        The output over all keys, and the logarithm of its sums.

    Raises:
        RuntimeError: If the inputs are not float32.
    """
    message = "Attention combine function only support fp32 data type"
    require(out_partial.dtype == lse_partial.dtype == torch.float32, message)
    return combined(out_partial, lse_partial, out, out_dtype or torch.float32)


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
