"""The functions of flash_attn 2's extension module, which only takes positional arguments."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import core
from .bounds import Bounds
from .cache import Cache, attend
from .direct import watched
from .operators import _flash_attn_varlen_backward, _flash_attn_varlen_forward, _fwd_kvcache
from .options import Options

Maybe = Tensor | None


def fwd(q: Tensor, k: Tensor, v: Tensor, out: Maybe, slopes: Maybe, *options: Any) -> list[Tensor]:
    """Compute attention; see :func:`.core.forward`.

    The options are the probability of dropout, the scale, whether it is causal, the left and the right
    window, the softcap, whether to return the softmax, and a generator.
    """
    return core.forward(q, k, v, Options._make((*options[:6], slopes)), None, options[6], out)


def bwd(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dq: Maybe,
    dk: Maybe,
    dv: Maybe,
    slopes: Maybe,
    *options: Any,
) -> list[Tensor]:
    """Compute the gradients of :func:`fwd`; see :func:`.core.backward`.

    The options are six as for ``fwd``, whether to be deterministic, a generator, and the last result of
    ``fwd``.
    """
    state = options[8] if len(options) > 8 else None
    asked = Options._make((*options[:6], slopes))
    return core.backward(dout, q, k, v, out, lse, asked, None, (dq, dk, dv), state)


def varlen_fwd(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Maybe,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    seqused_k: Maybe,
    leftpad_k: Maybe,
    block_table: Maybe,
    slopes: Maybe,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    scale: float,
    zero_tensors: bool,
    *options: Any,
) -> list[Tensor]:
    """Compute attention within each sequence; rows in no sequence are always zero.

    The options are whether it is causal, the left and the right window, the softcap, whether to return the
    softmax, a generator, and a number of splits.
    """
    longest, keys = (max_seqlen_q, max_seqlen_k), (seqused_k, leftpad_k, block_table)
    asked = Options._make((dropout_p, scale, *options[:4], slopes))
    if watched(q, k, v):
        where, rest = (cu_seqlens_q, cu_seqlens_k, *longest), (options[4], *reversed(keys), zero_tensors)
        result, *others = _flash_attn_varlen_forward(q, k, v, *where, *asked, *rest, *options[6:])
        return [result if out is None else out.copy_(result), *others]
    bounds = Bounds(cu_seqlens_q, cu_seqlens_k, *longest, *keys, *options[6:])
    return core.forward(q, k, v, asked, bounds, options[4], out)


def varlen_bwd(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dq: Maybe,
    dk: Maybe,
    dv: Maybe,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    slopes: Maybe,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    scale: float,
    zero_tensors: bool,
    *options: Any,
) -> list[Tensor]:
    """Compute the gradients of :func:`varlen_fwd`.

    The options are four as for ``varlen_fwd``, and three as for :func:`bwd`.
    """
    where = cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k
    state = options[6] if len(options) > 6 else None
    asked = Options._make((dropout_p, scale, *options[:4], slopes))
    if watched(dout, q, k, v):
        pairs = zip((dq, dk, dv), (q, k, v), strict=True)
        grads = [torch.empty_like(each) if target is None else target for target, each in pairs]
        inputs = dout, q, k, v, out, lse, *grads
        sums = _flash_attn_varlen_backward(*inputs, *where, *asked, options[4], state, zero_tensors)
        return [*grads, sums]
    bounds = Bounds(*where)
    return core.backward(dout, q, k, v, out, lse, asked, bounds, (dq, dk, dv), state)


@torch.no_grad()
def fwd_kvcache(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    k: Maybe,
    v: Maybe,
    lengths: Maybe,
    cos: Maybe,
    sin: Maybe,
    *options: Any,
) -> list[Tensor]:
    """Compute attention over a cache; see :func:`.cache.attend`.

    The options are the rows of the cache, their start positions, the page table, the slopes, the output, the
    scale, whether it is causal, the left and the right window, the softcap, whether rotations are
    interleaved, and a number of splits.
    """
    rows, leftpad, table, slopes, out, scale, is_causal, left, right, softcap, interleaved, *_ = options
    causal = is_causal and (q.shape[1] > 1 or slopes is not None)
    if watched(q, keys, values):
        where = rows, leftpad, table, slopes, scale, causal, left, right, softcap, interleaved
        result, lse = _fwd_kvcache(q, keys, values, k, v, lengths, cos, sin, *where)
        return [result if out is None else out.copy_(result), lse]
    cache = Cache(keys, values, lengths, rows, leftpad, table)
    asked = Options(0.0, scale, causal, left, right, softcap, slopes)
    return attend(q, cache, (k, v), (cos, sin, interleaved), asked, out)
