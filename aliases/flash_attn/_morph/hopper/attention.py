"""Attention of flash_attn 3, forward and backward, as functions of all its arguments."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .. import kernels
from ..checks import require, require_upstream
from ..core import delivered, row_sums
from ..kernels import Attention
from .request import Request, rotated

Four = tuple[Tensor, Tensor, Tensor, Tensor]

_ROTARY_WITHOUT_KEYS = (
    "If rotary cos/sin are provided, new key / value to be appended to KV cache must also be provided"
)


@torch.no_grad()
def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    k_new: Tensor | None = None,
    v_new: Tensor | None = None,
    qv: Tensor | None = None,
    out_: Tensor | None = None,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    cu_seqlens_k_new: Tensor | None = None,
    seqused_q: Tensor | None = None,
    seqused_k: Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    page_table: Tensor | None = None,
    kv_batch_idx: Tensor | None = None,
    leftpad_k: Tensor | None = None,
    rotary_cos: Tensor | None = None,
    rotary_sin: Tensor | None = None,
    seqlens_rotary: Tensor | None = None,
    q_descale: Tensor | None = None,
    k_descale: Tensor | None = None,
    v_descale: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size_left: int = -1,
    window_size_right: int = -1,
    attention_chunk: int = 0,
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    scheduler_metadata: Tensor | None = None,
    num_splits: int = 1,
    pack_gqa: bool | None = None,
    sm_margin: int = 0,
) -> Four:
    """Compute attention, and first add new keys and values in place.

    Args:
        q: float16, bfloat16 or float8_e4m3fn, of shape (batch, queries, heads, head size), or (all queries,
            heads, head size) with ``cu_seqlens_q``.
        k: Of shape (batch, keys, key heads, head size), (all keys, ...) with ``cu_seqlens_k``, or pages.
        v: Of the shape of ``k`` but for the last dimension.
        k_new: Keys to add after those that ``seqused_k`` counts, of shape (batch, tokens, key heads, head
            size).
        v_new: Values to add.
        qv: What is multiplied with the values and added to the scores, of shape (batch, queries, heads,
            value size).
        out_: Where to put the output; None for a new tensor.
        cu_seqlens_q: int32 of shape (batch + 1,): where the queries of each sequence begin, and the last
            ones end.
        cu_seqlens_k: Likewise for the keys.
        cu_seqlens_k_new: Only without ``k_new``, and then without effect.
        seqused_q: int32 of shape (batch,): how many queries of each sequence count.
        seqused_k: Likewise for the keys.
        max_seqlen_q: The most queries of a sequence.
        max_seqlen_k: The most keys of a sequence.
        page_table: int32 of shape (batch, most pages of a sequence): the pages of each sequence.
        kv_batch_idx: int32 of shape (batch,): which of the cached sequences each is.
        leftpad_k: int32 of shape (batch,): where the keys of each sequence begin.
        rotary_cos: Cosines of shape (positions, rotary size / 2), for queries and new keys.
        rotary_sin: Sines of the same shape.
        seqlens_rotary: int32 of shape (batch,): the first new position; None for ``seqused_k``.
        q_descale: float32 of shape (batch, key heads): what 8-bit queries are multiplied by.
        k_descale: Likewise for the keys.
        v_descale: Likewise for the values.
        softmax_scale: What the product of a query and a key is multiplied by; None for 1 / sqrt(head size).
        causal: Whether a query sees no later key; queries and keys end at the same position.
        window_size_left: How many earlier keys a query sees; negative for all.
        window_size_right: How many later keys a query sees; negative for all.
        attention_chunk: Queries only see keys of their own run of so many positions, unless it is 0.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        rotary_interleaved: Whether neighbours are rotated with each other, or one half with the other.
        scheduler_metadata: Without effect on the result.
        num_splits: Without effect on the result.
        pack_gqa: Without effect on the result.
        sm_margin: Without effect on the result.

    Returns:
        The output, of the shape of ``q`` but for the last dimension; the logarithm of the softmax's sums,
        float32 of shape (batch, heads, queries) or (heads, all queries), minus infinity where no key is
        seen; and two empty tensors, where flash_attn keeps parts of the result.

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
    """
    bounds = cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k
    scales = q_descale, k_descale, v_descale
    request = Request(q, k, v, *bounds, page_table, kv_batch_idx, leftpad_k, qv, scales)
    request.require()
    size = q.shape[-1] + (0 if qv is None else qv.shape[-1])
    scale = size**-0.5 if softmax_scale is None else softmax_scale
    right = 0 if causal else window_size_right
    attention = Attention(scale, window_size_left, right, softcap, chunk=attention_chunk)
    with kernels.full_precision(q):
        if k_new is not None:
            require(cu_seqlens_k_new is None, "morph does not serve k_new together with cu_seqlens_k_new")
            angles = rotary_cos, rotary_sin, seqlens_rotary, rotary_interleaved
            _append(request, attention, k_new, v_new, *angles)
        else:
            require(rotary_cos is None, _ROTARY_WITHOUT_KEYS)
        out, lse = request.attend(attention)
    out = out if out_ is None else out_.copy_(out)
    lse = lse.masked_fill_(lse == math.inf, -math.inf)
    return out, lse, lse.new_empty(0), lse.new_empty(0)


@torch.no_grad()
def backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    sequed_q: Tensor | None = None,
    sequed_k: Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    dq: Tensor | None = None,
    dk: Tensor | None = None,
    dv: Tensor | None = None,
    softmax_scale: float | None = None,
    is_causal: bool = False,
    window_size_left: int = -1,
    window_size_right: int = -1,
    softcap: float = 0.0,
    deterministic: bool = False,
    sm_margin: int = 0,
) -> tuple[list[Tensor], Tensor]:
    """Compute the gradients of :func:`forward`, always deterministically; see there for what is not listed.

    Args:
        dout: The gradient of the output.
        q: As given to ``forward``.
        k: As given to ``forward``.
        v: As given to ``forward``.
        out: What ``forward`` returned.
        softmax_lse: Likewise.
        cu_seqlens_q: As given to ``forward``.
        cu_seqlens_k: As given to ``forward``.
        sequed_q: As given to ``forward``, where it is called ``seqused_q``.
        sequed_k: Likewise.
        max_seqlen_q: Without effect.
        max_seqlen_k: Without effect.
        dq: Where to put the gradient of ``q``; None for a new tensor.
        dk: Likewise for ``k``.
        dv: Likewise for ``v``.
        softmax_scale: As given to ``forward``.
        is_causal: As given to ``forward``, where it is called ``causal``.
        window_size_left: As given to ``forward``.
        window_size_right: As given to ``forward``.
        softcap: As given to ``forward``.
        deterministic: Without effect.
        sm_margin: Without effect.

    Returns:
        The gradients of ``q``, ``k`` and ``v``; and the row sums of ``dout * out``, float32 of the shape of
        ``softmax_lse``.

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
    """
    request = Request(q, k, v, cu_seqlens_q, cu_seqlens_k, sequed_q, sequed_k)
    request.require()
    require_upstream(q, out, dout, softmax_lse)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    attention = Attention(scale, window_size_left, 0 if is_causal else window_size_right, softcap)
    with kernels.full_precision(q):
        grads = request.differentiate(attention, dout, out, softmax_lse)
        sums = row_sums(dout, out).transpose(-1, -2)
    return delivered((dq, dk, dv), grads, q.dtype), sums.contiguous()


def _append(
    request: Request,
    attention: Attention,
    key: Tensor,
    value: Tensor | None,
    cos: Tensor | None,
    sin: Tensor | None,
    positions: Tensor | None,
    interleaved: bool,
) -> None:
    """Add new keys and values to those of a request, rotated like its queries if there are angles."""
    require(value is not None, "If k_new is supplied, v_new must also be passed in")
    assert value is not None
    lengths = request.keys_used
    require(lengths is not None, "If k_new is supplied, seqlens_k must also be passed in")
    assert lengths is not None
    require(key.dtype == request.query.dtype, "k_new must have the same dtype as query")
    require(value.dtype == request.query.dtype, "v_new must have the same dtype as query")
    if cos is not None:
        require(sin is not None, "If rotary cos is provided, rotary sin must also be provided")
        assert sin is not None
        first = lengths if positions is None else positions
        request.query, key = rotated(request, key, cos, sin, first, interleaved, attention.masked)
    request.cache.append(key, value)
    request.keys_used = lengths + key.shape[1]
