"""The functions of flash_attn 3."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor

from ..direct import attend
from ..functions import call
from ..operators import maybe_contiguous
from .decoding import flash_attn_combine, flash_attn_with_kvcache, get_scheduler_metadata
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
    """Return the head size that a kernel of flash_attn is compiled for."""
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
        softmax_scale: What the product of a query and a key is multiplied by; None for 1 / sqrt(head size).
        causal: Whether a query sees no later key; queries and keys end at the same position.
        qv: What is multiplied with the values and added to the scores, of shape (batch, queries, heads,
            value size); without gradients.
        q_descale: float32 of shape (batch, key heads): what 8-bit queries are multiplied by.
        k_descale: Likewise for the keys.
        v_descale: Likewise for the values.
        window_size: How many keys before and after its own position a query sees; -1 for all.
        attention_chunk: Queries only see keys of their own run of so many positions, unless it is 0.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        num_splits: Without effect on the result.
        pack_gqa: Without effect on the result.
        deterministic: Without effect: the gradients always are.
        sm_margin: Without effect on the result.
        return_attn_probs: Whether the logarithm of the softmax's sums is wanted too.

    Returns:
        The output, of shape (batch, queries, heads, value size), 0 for a query that sees no key; with
        ``return_attn_probs`` also the logarithm of the sums, float32 of shape (batch, heads, queries),
        minus infinity where no key is seen.

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
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
    """Compute attention within sequences of several lengths; see :func:`flash_attn_func` for the options.

    Args:
        q: Of shape (all queries, heads, head size).
        k: Of shape (all keys, key heads, head size).
        v: Of shape (all keys, key heads, value size).
        cu_seqlens_q: int32 of shape (batch + 1,): where the queries of each sequence begin, and the last
            ones end.
        cu_seqlens_k: Likewise for the keys.
        max_seqlen_q: The most queries of a sequence.
        max_seqlen_k: The most keys of a sequence.
        seqused_q: int32 of shape (batch,): how many queries of each sequence count; None for all.
        seqused_k: Likewise for the keys.
        softmax_scale: What the product of a query and a key is multiplied by.
        causal: Whether a query sees no later key.
        qv: What is multiplied with the values and added to the scores.
        q_descale: float32 of shape (batch, key heads): what 8-bit queries are multiplied by.
        k_descale: Likewise for the keys.
        v_descale: Likewise for the values.
        window_size: How many keys before and after its own position a query sees.
        attention_chunk: Queries only see keys of their own run of so many positions.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``.
        num_splits: Without effect on the result.
        pack_gqa: Without effect on the result.
        deterministic: Without effect.
        sm_margin: Without effect on the result.
        return_attn_probs: Whether the logarithm of the softmax's sums is wanted too.

    Returns:
        The output; with ``return_attn_probs`` also the logarithm of the sums, float32 of shape (heads, all
        queries).

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
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
