"""Attention over a cache of keys and values, to which new ones are added in place."""

from __future__ import annotations

import torch
from torch import Tensor

from .. import kernels
from ..ops.triton.rotary import apply_rotary
from .checks import (
    require,
    require_device,
    require_heads,
    require_inputs,
    require_options,
    require_output,
    require_shape,
)
from .options import attention_of
from .storage import Cache


@torch.no_grad()
def fwd_kvcache(
    q: Tensor,
    kcache: Tensor,
    vcache: Tensor,
    k_: Tensor | None,
    v_: Tensor | None,
    seqlens_k_: Tensor | None,
    rotary_cos_: Tensor | None,
    rotary_sin_: Tensor | None,
    cache_batch_idx_: Tensor | None,
    leftpad_k_: Tensor | None,
    block_table_: Tensor | None,
    alibi_slopes_: Tensor | None,
    out_: Tensor | None,
    softmax_scale: float,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    is_rotary_interleaved: bool,
    num_splits: int,
) -> list[Tensor]:
    """Compute attention over a cache; see :func:`.dense.fwd` for the options that are not listed here.

    Args:
        q: Of shape (batch, queries, heads, head size).
        kcache: Of shape (cached sequences, cached tokens, key heads, head size), or, with a
            ``block_table_``, of shape (pages, tokens of a page, key heads, head size).
        vcache: Of the shape of ``kcache``.
        k_: Keys to add, of shape (batch, new tokens, key heads, head size), or None.
        v_: Values to add.
        seqlens_k_: int32 of shape (batch,): how many tokens of each sequence are in the cache; None for all.
        rotary_cos_: Cosines of shape (positions, rotary size / 2), by which queries and new keys are rotated.
        rotary_sin_: Sines, likewise.
        cache_batch_idx_: int32 of shape (batch,): which of the cached sequences each is; None for the first
            ones.
        leftpad_k_: int32 of shape (batch,): where in the cache each sequence begins; None for 0.
        block_table_: int32 of shape (batch, most pages of a sequence): the pages of each sequence.
        alibi_slopes_: float32, of shape (heads,) or (batch, heads), or None.
        out_: Where to put the output; None for a new tensor.
        softmax_scale: What the product of a query and a key is multiplied by.
        is_causal: Whether a query sees no later key; queries and keys end at the same position.
        window_size_left: How many earlier keys a query sees; negative for all.
        window_size_right: How many later keys a query sees; negative for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        is_rotary_interleaved: Whether neighbours are rotated with each other, or one half with the other.
        num_splits: Without effect on the result.

    Returns:
        The output, and the logarithm of the softmax's sums, float32 of shape (batch, heads, queries).

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
    """
    batch_size, seqlen_q, num_heads, head_size = q.shape
    require_inputs(q, kcache, vcache)
    require_heads(batch_size, num_heads, kcache.shape[2], head_size)
    require_options(0.0, softcap, alibi_slopes_, batch_size, num_heads)
    require_output(out_, q, tuple(q.shape))
    cache = Cache(kcache, vcache, seqlens_k_, cache_batch_idx_, leftpad_k_, block_table_)
    cache.require(batch_size, head_size)
    causal = is_causal and (seqlen_q > 1 or alibi_slopes_ is not None)
    window = causal, window_size_left, window_size_right
    attention = attention_of(softmax_scale, *window, softcap, alibi_slopes_, seqlen_q, cache.capacity)
    masked = causal or any(0 <= each < cache.capacity for each in window[1:])
    new = 0
    with kernels.full_precision(q):
        if k_ is not None:
            new = k_.shape[1]
            v_ = _require_new(q, k_, v_, cache)
            if rotary_cos_ is not None:
                angles = _require_rotary(q, rotary_cos_, rotary_sin_, cache.capacity)
                q, k_ = _rotated(q, k_, *angles, cache, is_rotary_interleaved, masked)
            cache.append(k_, v_)
        else:
            require(rotary_cos_ is None, _ROTARY_WITHOUT_KEYS)
        out, lse = cache.attend(attention, q, new)
    return [out if out_ is None else out_.copy_(out), lse]


_ROTARY_WITHOUT_KEYS = (
    "If rotary cos/sin are provided, new key / value to be appended to KV cache must also be provided"
)


def _require_new(q: Tensor, k: Tensor, v: Tensor | None, cache: Cache) -> Tensor:
    require(v is not None, "If key is supplied, value must also be passed in")
    assert v is not None
    require(cache.lengths is not None, "If key is supplied, seqlens_k must also be passed in")
    message = "If key is supplied, it must have seqlen <= the seqlen of the KV cache"
    require(q.shape[1] <= cache.capacity, message)
    require(k.dtype == q.dtype, "Key must have the same dtype as query")
    require(v.dtype == q.dtype, "Value must have the same dtype as query")
    require_device(k=k, v=v)
    require(k.stride(-1) == 1, "Key tensor must have contiguous last dimension")
    require(v.stride(-1) == 1, "Value tensor must have contiguous last dimension")
    sizes = {"batch_size": q.shape[0], "seqlen_knew": k.shape[1], "num_heads_k": cache.keys.shape[2]}
    for name, tensor in {"k": k, "v": v}.items():
        require_shape(name, tensor, **sizes, head_size_og=q.shape[3])
    return v


def _require_rotary(q: Tensor, cos: Tensor, sin: Tensor | None, capacity: int) -> tuple[Tensor, Tensor]:
    rotary_dim = cos.shape[1] * 2
    require(rotary_dim <= q.shape[3], "rotary_dim must be <= headdim")
    require(rotary_dim % 16 == 0, "Only rotary dimensions divisible by 16 are currently supported")
    require(cos.shape[0] >= capacity, "cos/sin seqlen must be at least the seqlen of KV cache")
    require(sin is not None, "If rotary cos is provided, rotary sin must also be provided")
    assert sin is not None
    for name, each in {"rotary_cos": cos, "rotary_sin": sin}.items():
        require_device(**{name: each})
        require_shape(name, each, **{"seqlen_ro": cos.shape[0], "params.rotary_dim / 2": rotary_dim // 2})
        require(each.is_contiguous(), f"{name} must be contiguous")
        require(each.dtype == q.dtype, "rotary_cos must have the same dtype as query")
    return cos, sin


def _rotated(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, cache: Cache, interleaved: bool, masked: bool
) -> tuple[Tensor, Tensor]:
    """Return queries and new keys at their positions, without a mask all queries at the first new one."""
    assert cache.lengths is not None
    k = apply_rotary(k, cos, sin, cache.lengths, interleaved=interleaved)
    if masked:
        return apply_rotary(q, cos, sin, cache.lengths, interleaved=interleaved), k
    together = q.flatten(1, 2)[:, None]
    return apply_rotary(together, cos, sin, cache.lengths, interleaved=interleaved).view(q.shape), k
