"""The functions of flash_attn 2."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import flash_attn_2_cuda as flash_attn_gpu
import torch
from torch import Tensor

from morph.aliases.attention.weights import block_size

from ._morph.direct import attend
from ._morph.functions import (
    FlashAttnFunc,
    FlashAttnKVPackedFunc,
    FlashAttnQKVPackedFunc,
    FlashAttnVarlenFunc,
    FlashAttnVarlenKVPackedFunc,
    FlashAttnVarlenQKVPackedFunc,
    Result,
    call,
)
from ._morph.operators import (
    _flash_attn_backward,
    _flash_attn_backward_fake,
    _flash_attn_forward,
    _flash_attn_forward_fake,
    _flash_attn_varlen_backward,
    _flash_attn_varlen_backward_fake,
    _flash_attn_varlen_forward,
    _flash_attn_varlen_forward_fake,
    _wrapped_flash_attn_backward,
    _wrapped_flash_attn_forward,
    _wrapped_flash_attn_varlen_backward,
    _wrapped_flash_attn_varlen_forward,
    maybe_contiguous,
)

USE_TRITON_ROCM = os.getenv("FLASH_ATTENTION_TRITON_AMD_ENABLE", "FALSE") == "TRUE"

_torch_custom_op_wrapper = torch.library.custom_op
_torch_register_fake_wrapper = torch.library.register_fake


def round_multiple(x: int, m: int) -> int:
    """Return the next multiple of ``m``."""
    return (x + m - 1) // m * m


def _get_block_size_n(device: torch.device, head_dim: int, is_dropout: bool, is_causal: bool) -> int:
    """Return how many keys share a largest score in the results of ``return_attn_probs``."""
    return block_size(device, head_dim, is_dropout, is_causal)


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """Compute attention for a batch of sequences of one length, differentiably.

    Queries and keys end at the same position: of 2 queries and 5 keys, the first query is at the fourth key.

    Args:
        q: float16 or bfloat16 of shape (batch, queries, heads, head size).
        k: Of shape (batch, keys, key heads, head size); the key heads divide the heads.
        v: Of the shape of ``k``.
        dropout_p: The probability that a weight is dropped; 0 for evaluation.
        softmax_scale: The factor of the query-key products; None for 1 / sqrt(head size).
        causal: Whether a query sees no key after its own position.
        window_size: How many keys before and after its own position a query sees; -1 for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        alibi_slopes: float32, of shape (heads,) or (batch, heads): the score of a key falls by this much
            with every position between it and the query.
        deterministic: Without effect: the gradients always are.
        return_attn_probs: Whether the sums and the weights of the softmax are also returned.

    Returns:
        The output, of the shape of ``q``, 0 for a query that sees no key. With ``return_attn_probs`` also the
        logarithm of the sums, float32 of shape (batch, heads, queries), infinity where no key is seen; and,
        if ``dropout_p`` is not 0, the weights, of shape (batch, heads, queries, keys) padded to multiples
        of 128 and negative where dropped, else an empty tensor. They are not divided by their sum, and
        relative to the largest score of their block of ``_get_block_size_n`` keys and the blocks after it.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    options = dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
    return _dense(FlashAttnFunc, (q, k, v), (q, k, v), options, return_attn_probs)


def flash_attn_kvpacked_func(
    q: Tensor,
    kv: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """Compute attention as :func:`flash_attn_func`; ``kv`` is (batch, keys, 2, key heads, head size)."""
    options = dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
    return _dense(FlashAttnKVPackedFunc, (q, kv), (q, *kv.unbind(2)), options, return_attn_probs)


def flash_attn_qkvpacked_func(
    qkv: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """Compute attention as :func:`flash_attn_func`; ``qkv`` is (batch, tokens, 3, heads, head size)."""
    options = dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
    return _dense(FlashAttnQKVPackedFunc, (qkv,), qkv.unbind(2), options, return_attn_probs)


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: Tensor | None = None,
) -> Result:
    """Compute attention within sequences of several lengths; see :func:`flash_attn_func` for the options.

    ``q`` is of shape (all queries, heads, head size), ``k`` and ``v`` are of shape (all keys, key heads, head
    size). ``cu_seqlens_q`` and ``cu_seqlens_k``, int32 of shape (batch + 1,), are where the queries and the
    keys of each sequence begin, and the last ones end; ``max_seqlen_q`` and ``max_seqlen_k`` are the largest
    numbers in a sequence. With a ``block_table``, int32 of shape (batch, most pages of a sequence), ``k``
    and ``v`` are of shape (pages, tokens of a page, key heads, head size), and it lists the pages of each
    sequence in order.

    Returns:
        The output, of the shape of ``q``. With ``return_attn_probs`` also the logarithm of the sums,
        float32 of shape (heads, all queries), and the weights as in :func:`flash_attn_func`.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    bounds = cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k
    options = dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
    return _applied(FlashAttnVarlenFunc, q, k, v, *bounds, *options, return_attn_probs, block_table)


def flash_attn_varlen_kvpacked_func(
    q: Tensor,
    kv: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """Compute attention as :func:`flash_attn_varlen_func`; ``kv`` is (all keys, 2, key heads, head size)."""
    bounds = cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k
    options = dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
    return _applied(FlashAttnVarlenKVPackedFunc, q, kv, *bounds, *options, return_attn_probs)


def flash_attn_varlen_qkvpacked_func(
    qkv: Tensor,
    cu_seqlens: Tensor,
    max_seqlen: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """Compute attention as :func:`flash_attn_varlen_func`; ``qkv`` is (all tokens, 3, heads, head size)."""
    options = dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
    return _applied(FlashAttnVarlenQKVPackedFunc, qkv, cu_seqlens, max_seqlen, *options, return_attn_probs)


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

    There is no backward pass. See :func:`flash_attn_func` for the options that are not listed here.

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
        rotary_interleaved: Whether neighbours are rotated with each other, or one half with the other.
        num_splits: Without effect on the result.
        return_softmax_lse: Whether the sums of the softmax are also returned.

    Returns:
        The output, of the shape of ``q``; with ``return_softmax_lse`` also the logarithm of the sums,
        float32 of shape (batch, heads, queries), infinity where no key is seen.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    assert k_cache.stride(-1) == 1, "k_cache must have contiguous last dimension"
    assert v_cache.stride(-1) == 1, "v_cache must have contiguous last dimension"
    if isinstance(cache_seqlens, int):
        shape, device = (q.shape[0],), k_cache.device
        cache_seqlens = torch.full(shape, cache_seqlens, dtype=torch.int32, device=device)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    inputs: tuple[Any, ...] = maybe_contiguous(q), k_cache, v_cache, maybe_contiguous(k), maybe_contiguous(v)
    rotary = maybe_contiguous(cache_seqlens), rotary_cos, rotary_sin
    where = maybe_contiguous(cache_batch_idx), cache_leftpad, maybe_contiguous(block_table)
    window = causal, *window_size
    options = alibi_slopes, None, scale, *window, softcap, rotary_interleaved, num_splits
    out, lse = flash_attn_gpu.fwd_kvcache(*inputs, *rotary, *where, *options)
    return (out, lse) if return_softmax_lse else out


def _dense(
    function: type[torch.autograd.Function],
    given: tuple[Tensor, ...],
    parts: Sequence[Tensor],
    options: tuple[Any, ...],
    return_attn_probs: bool,
) -> Result:
    """Compute attention with a device kernel that accepts the parts unchanged, or with ``function``."""
    dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, _ = options
    if not (return_attn_probs or dropout_p or softcap) and alibi_slopes is None and window_size == (-1, -1):
        q, k, v = parts
        out = attend(q, k, v, softmax_scale, causal)
        if out is not None:
            return out
    return _applied(function, *given, *options, return_attn_probs)


def _applied(function: type[torch.autograd.Function], *arguments: Any) -> Result:
    """Call an autograd function, whose last argument is whether gradients may be needed."""
    return call(function, *arguments, torch.is_grad_enabled())  # type: ignore[no-any-return]
