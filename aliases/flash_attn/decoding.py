"""Attention over a cache of keys and values."""

from __future__ import annotations

import flash_attn_2_cuda
import torch
from torch import Tensor

from .operators.forward import maybe_contiguous


def flash_attn_with_kvcache(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: Tensor | None = None,
    v: Tensor | None = None,
    rotary_cos: Tensor | None = None,
    rotary_sin: Tensor | None = None,
    cache_seqlens: int | Tensor | None = None,
    cache_batch_idx: Tensor | None = None,
    cache_leftpad: Tensor | None = None,
    block_table: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: Tensor | None = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Compute attention over a cache of keys and values, to which ``k`` and ``v`` are added in place first.

    There is no backward pass. See :func:`flash_attn.flash_attn_func` for the options that are not listed
    here.

    Args:
        q: float16 or bfloat16 of shape (batch, queries, heads, head size).
        k_cache: Of shape (cached sequences, cached tokens, key heads, head size), or, with a
            ``block_table``, of shape (pages, tokens of a page, key heads, head size), with a multiple of
            256 tokens in a page.
        v_cache: Of the shape of ``k_cache``.
        k: Of shape (batch, new tokens, key heads, head size), written after the tokens of each sequence.
        v: Of the shape of ``k``.
        rotary_cos: Cosines of shape (positions, rotary size / 2): new keys are rotated at their positions;
            so are queries with a mask, and without one all of them at the first new position.
        rotary_sin: Sines of the same shape.
        cache_seqlens: How many tokens each sequence has in the cache; a tensor is int32 of shape (batch,).
        cache_batch_idx: int32 of shape (batch,): which of the cached sequences each is; None for the first
            ones.
        cache_leftpad: int32 of shape (batch,): where in the cache each sequence begins; None for 0.
        block_table: int32 of shape (batch, most pages of a sequence): the pages of each sequence, in order.
        softmax_scale: What the product of a query and a key is multiplied by; None for 1 / sqrt(head size).
        causal: Whether a query sees no later key; the last query stands at the last key.
        window_size: How many keys before and after its own position a query sees; -1 for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        rotary_interleaved: Whether neighbours are rotated with each other, or one half with the other.
        alibi_slopes: float32, of shape (heads,) or (batch, heads).
        num_splits: Without effect on the result.
        return_softmax_lse: Whether the sums of the softmax are wanted too.

    Returns:
        The output, of the shape of ``q``; with ``return_softmax_lse`` also the logarithm of the sums,
        float32 of shape (batch, heads, queries), infinity where no key is seen.

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
    """
    assert k_cache.stride(-1) == 1, "k_cache must have contiguous last dimension"
    assert v_cache.stride(-1) == 1, "v_cache must have contiguous last dimension"
    if isinstance(cache_seqlens, int):
        shape, device = (q.shape[0],), k_cache.device
        cache_seqlens = torch.full(shape, cache_seqlens, dtype=torch.int32, device=device)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    new = [maybe_contiguous(each) for each in (k, v)]
    rotary = maybe_contiguous(cache_seqlens), rotary_cos, rotary_sin
    where = maybe_contiguous(cache_batch_idx), cache_leftpad, maybe_contiguous(block_table)
    out, lse = flash_attn_2_cuda.fwd_kvcache(
        maybe_contiguous(q),
        k_cache,
        v_cache,
        *new,
        *rotary,
        *where,
        alibi_slopes,
        None,
        scale,
        causal,
        *window_size,
        softcap,
        rotary_interleaved,
        num_splits,
    )
    return (out, lse) if return_softmax_lse else out
