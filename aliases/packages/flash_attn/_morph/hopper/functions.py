"""The differentiable functions of flash_attn 3.

Each takes the tensors and options in the order of the function in ``flash_attn_interface`` that calls it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..direct import watched
from .operators import _flash_attn_forward, gradients, scale_of

Grads = tuple[Tensor | None, ...]

_BOUNDS = "cu_seqlens_q", "cu_seqlens_k", "seqused_q", "seqused_k", "max_seqlen_q", "max_seqlen_k"
_OTHERS = None, None, None, None, (-1, -1), 0, 0.0, 1, None, False, 0, False
"""The defaults of the options after ``causal``."""
_OF_PACKED = None, None, None, (-1, -1), 0, 0.0, False, None, 0, False
"""The same for the function with one packed tensor."""


class FlashAttnFunc(torch.autograd.Function):
    """Attention for a batch of sequences of one length."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, *options: Any) -> Any:
        """Compute attention; see :func:`flash_attn_interface.flash_attn_func`."""
        return _forward(ctx, (q, k, v), (), *options)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradients of q, k and v."""
        return *gradients(ctx, dout), *(None,) * 14


class FlashAttnVarlenFunc(torch.autograd.Function):
    """Attention within sequences of several lengths."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, *options: Any) -> Any:
        """Compute attention; see :func:`flash_attn_interface.flash_attn_varlen_func`."""
        return _forward(ctx, (q, k, v), options[:6], *options[6:])

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradients of q, k and v."""
        return *gradients(ctx, dout), *(None,) * 20


class FlashAttnQKVPackedFunc(torch.autograd.Function):
    """Attention with queries, keys and values in one tensor."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, softmax_scale: float | None, causal: bool, *options: Any) -> Any:
        """Compute attention; see :func:`flash_attn_interface.flash_attn_qkvpacked_func`."""
        options = (*options, *_OF_PACKED[len(options) :])
        *asked, deterministic, num_heads_q, sm_margin, return_softmax = options
        ctx.num_heads_q, ctx.shape = num_heads_q, qkv.shape
        speed = 1, None, deterministic, sm_margin, return_softmax
        return _forward(ctx, _parts(qkv, num_heads_q), (), softmax_scale, causal, None, *asked, *speed)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradient of qkv."""
        dqkv = dout.new_empty(ctx.shape)
        gradients(ctx, dout, _parts(dqkv, ctx.num_heads_q))
        return dqkv, *(None,) * 12


def _forward(
    ctx: Any,
    tensors: tuple[Tensor, Tensor, Tensor],
    bounds: tuple[Any, ...],
    softmax_scale: float | None,
    causal: bool,
    *options: Any,
) -> Any:
    """Compute attention, and save what the backward pass needs; omitted options have their defaults."""
    options = (*options, *_OTHERS[len(options) :])
    qv, *scales, window_size, chunk, softcap, _, _, _, _, return_softmax = options
    ctx.softmax_scale = scale_of(tensors[0], qv) if softmax_scale is None else softmax_scale
    ctx.causal, ctx.window_size, ctx.has_qv = causal, window_size, qv is not None
    ctx.attention_chunk, ctx.softcap = chunk, softcap
    named: dict[str, Any] = dict(zip(_BOUNDS, bounds, strict=False))
    named |= dict(zip(("q_descale", "k_descale", "v_descale"), scales, strict=True))
    named |= {"window_size_left": window_size[0], "window_size_right": window_size[1]}
    named |= {"qv": qv, "softmax_scale": ctx.softmax_scale, "causal": causal}
    attend = _flash_attn_forward if watched(*tensors) else _flash_attn_forward._init_fn
    out, lse, *_ = attend(*tensors, attention_chunk=chunk, softcap=softcap, **named)
    ctx.save_for_backward(*tensors, out, lse, *bounds[:4])
    return (out, lse) if return_softmax else out


def _parts(qkv: Tensor, num_heads_q: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return views of queries, keys and values."""
    if qkv.dim() == 5:
        assert qkv.shape[-3] == 3
        q, k, v = qkv.unbind(dim=-3)
        return q, k, v
    assert qkv.dim() == 4
    assert num_heads_q is not None
    num_heads_k = (qkv.shape[2] - num_heads_q) // 2
    assert num_heads_k * 2 + num_heads_q == qkv.shape[2]
    q, k, v = qkv.split([num_heads_q, num_heads_k, num_heads_k], dim=-2)  # type: ignore[no-untyped-call]
    return q, k, v
