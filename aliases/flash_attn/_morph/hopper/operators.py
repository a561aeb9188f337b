"""The operators ``torch.ops.flash_attn_3.*``, and what their results look like."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from ..direct import watched
from .attention import Four, backward, forward

_FORWARD = (
    "(Tensor q, Tensor k, Tensor v, Tensor? k_new=None, Tensor? v_new=None, Tensor? qv=None, Tensor? "
    "out_=None, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, Tensor? cu_seqlens_k_new=None, "
    "Tensor? seqused_q=None, Tensor? seqused_k=None, SymInt? max_seqlen_q=None, SymInt? "
    "max_seqlen_k=None, Tensor? page_table=None, Tensor? kv_batch_idx=None, Tensor? leftpad_k=None, "
    "Tensor? rotary_cos=None, Tensor? rotary_sin=None, Tensor? seqlens_rotary=None, Tensor? "
    "q_descale=None, Tensor? k_descale=None, Tensor? v_descale=None, float? softmax_scale=None, bool "
    "causal=False, SymInt window_size_left=-1, SymInt window_size_right=-1, SymInt attention_chunk=0, "
    "float softcap=0.0, bool rotary_interleaved=True, Tensor? scheduler_metadata=None, SymInt "
    "num_splits=1, bool? pack_gqa=None, SymInt sm_margin=0) -> (Tensor, Tensor, Tensor, Tensor)"
)
_BACKWARD = (
    "(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor softmax_lse, Tensor? "
    "cu_seqlens_q=None, Tensor? cu_seqlens_k=None, Tensor? sequed_q=None, Tensor? sequed_k=None, "
    "SymInt? max_seqlen_q=None, SymInt? max_seqlen_k=None, Tensor(a12!)? dq=None, Tensor(a13!)? "
    "dk=None, Tensor(a14!)? dv=None, float? softmax_scale=None, bool is_causal=False, SymInt "
    "window_size_left=-1, SymInt window_size_right=-1, float softcap=0.0, bool deterministic=False, "
    "SymInt sm_margin=0) -> Tensor"
)

_flash_attn_forward = torch.library.custom_op(
    "flash_attn_3::_flash_attn_forward", forward, mutates_args=(), schema=_FORWARD
)


@torch.library.register_fake("flash_attn_3::_flash_attn_forward")  # type: ignore[untyped-decorator]
def _flash_attn_forward_fake(q: Tensor, k: Tensor, v: Tensor, *args: Any, **kwargs: Any) -> Four:
    packed = q.dim() == 3
    dtype = torch.bfloat16 if q.dtype == torch.float8_e4m3fn else q.dtype
    out = q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=dtype)
    shape = (q.shape[1], q.shape[0]) if packed else (q.shape[0], q.shape[2], q.shape[1])
    empty = q.new_empty(0, dtype=torch.float32)
    return out, q.new_empty(shape, dtype=torch.float32), empty, empty.clone()


@functools.wraps(backward)
def _gradients(*args: Any, **kwargs: Any) -> Tensor:
    return backward(*args, **kwargs)[1]


_flash_attn_backward = torch.library.custom_op(
    "flash_attn_3::_flash_attn_backward", _gradients, mutates_args=("dq", "dk", "dv"), schema=_BACKWARD
)


@torch.library.register_fake("flash_attn_3::_flash_attn_backward")  # type: ignore[untyped-decorator]
def _flash_attn_backward_fake(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, softmax_lse: Tensor, *args: Any, **kwargs: Any
) -> Tensor:
    return torch.empty_like(softmax_lse)


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Four) -> None:
    """Keep what the gradients of the operator need."""
    q, k, v = inputs[:3]
    ctx.save_for_backward(q, k, v, *output[:2])
    ctx.softmax_scale, ctx.causal, left, right, ctx.attention_chunk, ctx.softcap = inputs[-11:-5]
    ctx.window_size = [left, right]
    ctx.deterministic, ctx.sm_margin, ctx.has_qv = False, inputs[-1], inputs[5] is not None


def _backward(ctx: Any, dout: Tensor, *grads: Any) -> tuple[Tensor | None, ...]:
    return *gradients(ctx, dout), *(None,) * 31


_flash_attn_forward.register_autograd(_backward, setup_context=setup_context)


def gradients(
    ctx: Any, dout: Tensor, targets: tuple[Tensor, Tensor, Tensor] | None = None
) -> tuple[Tensor, ...]:
    """Compute the gradients of queries, keys and values.

    Args:
        ctx: The context, with what :func:`setup_context` keeps, and bounds and lengths if there are any.
        dout: The gradient of the output.
        targets: Where to put the gradients; None for new tensors.

    Raises:
        AssertionError: With ``attention_chunk``, as in flash_attn, or with ``qv``.
    """
    assert ctx.attention_chunk == 0, "FA3 backward does not support attention_chunk"
    assert not ctx.has_qv, "FA3 backward does not support qv"
    q, k, v, out, lse, *bounds = ctx.saved_tensors
    grads = targets or tuple(torch.empty_like(each) for each in (q, k, v))
    bounds = bounds or [None] * 4
    differentiate = _flash_attn_backward if watched(dout, q, k, v) else _flash_attn_backward._init_fn
    differentiate(
        dout.contiguous() if dout.stride(-1) != 1 else dout,
        q,
        k,
        v,
        out,
        lse,
        *bounds,
        None,
        None,
        *grads,
        ctx.softmax_scale,
        ctx.causal,
        *ctx.window_size,
        ctx.softcap,
        ctx.deterministic,
        ctx.sm_margin,
    )
    return grads
