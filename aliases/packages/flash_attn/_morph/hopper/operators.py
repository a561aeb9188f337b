"""The operators of flash_attn 3: attention forward and backward, as functions of all its arguments."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op, register_fake

from morph.aliases import attention as kernels
from morph.aliases.attention import Attention

from ..cache import ROTARY_WITHOUT_KEYS
from ..checks import require, require_upstream
from ..core import delivered, row_sums
from ..direct import watched
from ..operators import maybe_contiguous
from .request import Request, rotated

Four = tuple[Tensor, Tensor, Tensor, Tensor]


@custom_op("flash_attn_3::_flash_attn_forward", mutates_args=())
def _flash_attn_forward(
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
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute attention, after adding new keys and values in place behind those counted by ``seqused_k``.

    The arguments are those of ``flash_attn_varlen_func`` and ``flash_attn_with_kvcache`` of flash_attn 3.

    Returns:
        The output; the logarithm of the softmax's sums, float32 of shape (batch, heads, queries) or (heads,
        all queries), minus infinity where no key is seen; and two empty tensors, in which flash_attn stores
        partial results.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    bounds = cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k
    scales = q_descale, k_descale, v_descale
    request = Request(q, k, v, *bounds, page_table, kv_batch_idx, leftpad_k, qv, scales)
    request.require()
    right = 0 if causal else window_size_right
    scale = scale_of(q, qv) if softmax_scale is None else softmax_scale
    attention = Attention(scale, window_size_left, right, softcap, chunk=attention_chunk)
    with torch.no_grad(), kernels.full_precision(q):
        if k_new is not None:
            require(cu_seqlens_k_new is None, "morph does not serve k_new together with cu_seqlens_k_new")
            angles = rotary_cos, rotary_sin, seqlens_rotary, rotary_interleaved
            _append(request, attention, k_new, v_new, *angles)
        else:
            require(rotary_cos is None, ROTARY_WITHOUT_KEYS)
        out, lse = request.attend(attention)
        out = out if out_ is None else out_.copy_(out)
        lse = lse.masked_fill_(lse == math.inf, -math.inf)
    return out, lse, lse.new_empty(0), lse.new_empty(0)


@custom_op("flash_attn_3::_flash_attn_backward", mutates_args=("dq", "dk", "dv"))
def _flash_attn_backward(
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
) -> Tensor:
    """Write the gradients into ``dq``, ``dk`` and ``dv``, always deterministically.

    Returns:
        The row sums of ``dout * out``, float32 of the shape of ``softmax_lse``.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    request = Request(q, k, v, cu_seqlens_q, cu_seqlens_k, sequed_q, sequed_k)
    request.require()
    require_upstream(q, out, dout, softmax_lse)
    scale = scale_of(q) if softmax_scale is None else softmax_scale
    attention = Attention(scale, window_size_left, 0 if is_causal else window_size_right, softcap)
    with torch.no_grad(), kernels.full_precision(q):
        grads = request.differentiate(attention, dout, out, softmax_lse)
        delivered((dq, dk, dv), grads, q.dtype)
        return row_sums(dout, out).transpose(-1, -2).contiguous()


@register_fake("flash_attn_3::_flash_attn_forward")  # type: ignore[untyped-decorator]
def _flash_attn_forward_fake(q: Tensor, k: Tensor, v: Tensor, *args: Any, **kwargs: Any) -> Four:
    dtype = torch.bfloat16 if q.dtype == torch.float8_e4m3fn else q.dtype
    out = q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=dtype)
    shape = *q.shape[:-3], q.shape[-2], q.shape[-3]
    empty = q.new_empty(0, dtype=torch.float32)
    return out, q.new_empty(shape, dtype=torch.float32), empty, empty.clone()


@register_fake("flash_attn_3::_flash_attn_backward")  # type: ignore[untyped-decorator]
def _flash_attn_backward_fake(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, softmax_lse: Tensor, *args: Any, **kwargs: Any
) -> Tensor:
    return torch.empty_like(softmax_lse)


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Four) -> None:
    """Save what the backward pass of the operator needs."""
    q, k, v = inputs[:3]
    ctx.save_for_backward(q, k, v, *output[:2])
    ctx.softmax_scale, ctx.causal, left, right, ctx.attention_chunk, ctx.softcap = inputs[-11:-5]
    ctx.window_size, ctx.has_qv = [left, right], inputs[5] is not None


def _backward(ctx: Any, dout: Tensor, *grads: Any) -> tuple[Tensor | None, ...]:
    return *gradients(ctx, dout), *(None,) * 31


_flash_attn_forward.register_autograd(_backward, setup_context=setup_context)
for _operator in (_flash_attn_forward, _flash_attn_backward):
    kernels.as_one_kernel(_operator)


def gradients(
    ctx: Any, dout: Tensor, targets: tuple[Tensor, Tensor, Tensor] | None = None
) -> tuple[Tensor, ...]:
    """Compute the gradients of queries, keys and values.

    Args:
        ctx: The context, with what :func:`setup_context` saves, and bounds and lengths if there are any.
        dout: The gradient of the output.
        targets: The tensors for the gradients; None for new ones.

    Raises:
        AssertionError: With ``attention_chunk``, as in flash_attn, or with ``qv``.
    """
    assert ctx.attention_chunk == 0, "FA3 backward does not support attention_chunk"
    assert not ctx.has_qv, "FA3 backward does not support qv"
    q, k, v, out, lse, *bounds = ctx.saved_tensors
    grads = targets or tuple(torch.empty_like(each) for each in (q, k, v))
    differentiate = _flash_attn_backward if watched(dout, q, k, v) else _flash_attn_backward._init_fn
    lengths = *(bounds or (None,) * 4), None, None
    options = ctx.softmax_scale, ctx.causal, *ctx.window_size, ctx.softcap
    differentiate(maybe_contiguous(dout), q, k, v, out, lse, *lengths, *grads, *options)
    return grads


def scale_of(q: Tensor, qv: Tensor | None = None) -> float:
    """Return the default factor of the scores."""
    size: int = q.shape[-1] + (0 if qv is None else qv.shape[-1])
    return size**-0.5  # type: ignore[no-any-return]


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
