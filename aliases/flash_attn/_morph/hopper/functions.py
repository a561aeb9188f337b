"""The differentiable functions of flash_attn 3.

Each is given its tensors and options in the order of the function in ``flash_attn_interface`` that calls it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..direct import watched
from .operators import _flash_attn_forward, gradients, scale_of

Grads = tuple[Tensor | None, ...]

_BOUNDS = "cu_seqlens_q", "cu_seqlens_k", "seqused_q", "seqused_k", "max_seqlen_q", "max_seqlen_k"


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
    def forward(
        ctx: Any,
        qkv: Tensor,
        softmax_scale: float | None,
        causal: bool,
        q_descale: Tensor | None = None,
        k_descale: Tensor | None = None,
        v_descale: Tensor | None = None,
        window_size: tuple[int, int] = (-1, -1),
        attention_chunk: int = 0,
        softcap: float = 0.0,
        deterministic: bool = False,
        num_heads_q: int | None = None,
        sm_margin: int = 0,
        return_softmax: bool = False,
    ) -> Any:
        """Compute attention; see :func:`flash_attn_interface.flash_attn_qkvpacked_func`."""
        ctx.num_heads_q, ctx.shape = num_heads_q, qkv.shape
        options = q_descale, k_descale, v_descale, window_size, attention_chunk, softcap
        speed = 1, None, deterministic, sm_margin
        tensors = _parts(qkv, num_heads_q)
        return _forward(ctx, tensors, (), softmax_scale, causal, None, *options, *speed, return_softmax)

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
    return_softmax: bool = False,
) -> Any:
    """Compute attention, and keep what its gradients need."""
    ctx.softmax_scale = scale_of(tensors[0], qv) if softmax_scale is None else softmax_scale
    ctx.causal, ctx.window_size, ctx.attention_chunk, ctx.softcap = (
        causal,
        window_size,
        attention_chunk,
        softcap,
    )
    ctx.has_qv = qv is not None
    options: dict[str, Any] = {
        "qv": qv,
        "q_descale": q_descale,
        "k_descale": k_descale,
        "v_descale": v_descale,
    }
    options |= {"softmax_scale": ctx.softmax_scale, "causal": causal}
    options |= {"window_size_left": window_size[0], "window_size_right": window_size[1]}
    options |= {"attention_chunk": attention_chunk, "softcap": softcap}
    attend = _flash_attn_forward if watched(*tensors) else _flash_attn_forward._init_fn
    out, lse, *_ = attend(*tensors, **dict(zip(_BOUNDS, bounds, strict=False)), **options)
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
