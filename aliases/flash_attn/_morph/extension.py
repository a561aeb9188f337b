"""The functions of flash_attn 2's extension module, with its own order of arguments."""

from __future__ import annotations

import torch
from torch import Tensor

from . import core
from .bounds import Bounds
from .cache import Cache, attend
from .options import Options


def fwd(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out_: Tensor | None,
    alibi_slopes_: Tensor | None,
    p_dropout: float,
    softmax_scale: float,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    return_softmax: bool,
    unused_generator_compat: None = None,
) -> list[Tensor]:
    """Compute attention; see :func:`.core.forward`."""
    window = is_causal, window_size_left, window_size_right
    options = Options(p_dropout, softmax_scale, *window, softcap, alibi_slopes_)
    return core.forward(q, k, v, options, None, return_softmax, out_)


def bwd(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq_: Tensor | None,
    dk_: Tensor | None,
    dv_: Tensor | None,
    alibi_slopes_: Tensor | None,
    p_dropout: float,
    softmax_scale: float,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    deterministic: bool,
    unused_generator_compat: None = None,
    rng_state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the gradients of :func:`fwd`; see :func:`.core.backward`."""
    window = is_causal, window_size_left, window_size_right
    options = Options(p_dropout, softmax_scale, *window, softcap, alibi_slopes_)
    return core.backward(dout, q, k, v, out, softmax_lse, options, None, (dq_, dk_, dv_), rng_state)


def varlen_fwd(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out_: Tensor | None,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    seqused_k: Tensor | None,
    leftpad_k_: Tensor | None,
    block_table_: Tensor | None,
    alibi_slopes_: Tensor | None,
    max_seqlen_q: int,
    max_seqlen_k: int,
    p_dropout: float,
    softmax_scale: float,
    zero_tensors: bool,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    return_softmax: bool,
    unused_generator_compat: None = None,
    num_splits: int = 0,
) -> list[Tensor]:
    """Compute attention within each sequence; what no sequence covers is zero in any case."""
    longest, keys = (max_seqlen_q, max_seqlen_k), (seqused_k, leftpad_k_, block_table_)
    bounds = Bounds(cu_seqlens_q, cu_seqlens_k, *longest, *keys, num_splits)
    window = is_causal, window_size_left, window_size_right
    options = Options(p_dropout, softmax_scale, *window, softcap, alibi_slopes_)
    return core.forward(q, k, v, options, bounds, return_softmax, out_)


def varlen_bwd(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq_: Tensor | None,
    dk_: Tensor | None,
    dv_: Tensor | None,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    alibi_slopes_: Tensor | None,
    max_seqlen_q: int,
    max_seqlen_k: int,
    p_dropout: float,
    softmax_scale: float,
    zero_tensors: bool,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    deterministic: bool,
    unused_generator_compat: None = None,
    rng_state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the gradients of :func:`varlen_fwd`."""
    bounds = Bounds(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    window = is_causal, window_size_left, window_size_right
    options = Options(p_dropout, softmax_scale, *window, softcap, alibi_slopes_)
    return core.backward(dout, q, k, v, out, softmax_lse, options, bounds, (dq_, dk_, dv_), rng_state)


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
    """Compute attention over a cache; see :func:`.cache.attend`."""
    cache = Cache(kcache, vcache, seqlens_k_, cache_batch_idx_, leftpad_k_, block_table_)
    causal = is_causal and (q.shape[1] > 1 or alibi_slopes_ is not None)
    window = causal, window_size_left, window_size_right
    options = Options(0.0, softmax_scale, *window, softcap, alibi_slopes_)
    rotary = rotary_cos_, rotary_sin_, is_rotary_interleaved
    return attend(q, cache, (k_, v_), rotary, options, out_)
