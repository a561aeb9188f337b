"""The differentiable functions of flash_attn 3."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..direct import watched
from .operators import _flash_attn_forward, gradients

Scales = tuple[Tensor | None, Tensor | None, Tensor | None]


def _forward(
    ctx: Any, q: Tensor, k: Tensor, v: Tensor, bounds: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Tensor, Tensor]:
    """Compute attention, and keep what its gradients need."""
    qv = options["qv"]
    if options["softmax_scale"] is None:
        options["softmax_scale"] = (q.shape[-1] + (0 if qv is None else qv.shape[-1])) ** -0.5
    names = "cu_seqlens_q", "cu_seqlens_k", "seqused_q", "seqused_k"
    left, right = window = options.pop("window_size")
    deterministic = options.pop("deterministic")
    attend = _flash_attn_forward if watched(q, k, v) else _flash_attn_forward._init_fn
    out, lse, *_ = attend(
        q,
        k,
        v,
        window_size_left=left,
        window_size_right=right,
        **dict(zip(names, bounds, strict=False)),
        **options,
    )
    ctx.save_for_backward(q, k, v, out, lse, *bounds)
    ctx.window_size, ctx.deterministic, ctx.has_qv = window, deterministic, qv is not None
    for name in ("softmax_scale", "causal", "attention_chunk", "softcap", "sm_margin"):
        setattr(ctx, name, options[name])
    return out, lse


class FlashAttnFunc(torch.autograd.Function):
    """Attention for a batch of sequences of one length."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
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
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Compute attention; see :func:`flash_attn_interface.flash_attn_func`."""
        options = {
            "softmax_scale": softmax_scale,
            "causal": causal,
            "qv": qv,
            "q_descale": q_descale,
            "k_descale": k_descale,
            "v_descale": v_descale,
            "window_size": window_size,
            "attention_chunk": attention_chunk,
            "softcap": softcap,
            "deterministic": deterministic,
            "sm_margin": sm_margin,
        }
        out, lse = _forward(ctx, q, k, v, (), options)
        return (out, lse) if return_softmax else out

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradients of q, k and v."""
        return *gradients(ctx, dout), *(None,) * 14


class FlashAttnVarlenFunc(torch.autograd.Function):
    """Attention within sequences of several lengths."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        cu_seqlens_q: Tensor,
        cu_seqlens_k: Tensor,
        seqused_q: Tensor | None,
        seqused_k: Tensor | None,
        max_seqlen_q: int,
        max_seqlen_k: int,
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
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Compute attention; see :func:`flash_attn_interface.flash_attn_varlen_func`."""
        options = {
            "softmax_scale": softmax_scale,
            "causal": causal,
            "qv": qv,
            "q_descale": q_descale,
            "k_descale": k_descale,
            "v_descale": v_descale,
            "window_size": window_size,
            "attention_chunk": attention_chunk,
            "softcap": softcap,
            "deterministic": deterministic,
            "sm_margin": sm_margin,
            "max_seqlen_q": max_seqlen_q,
            "max_seqlen_k": max_seqlen_k,
        }
        bounds = cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k
        out, lse = _forward(ctx, q, k, v, bounds, options)
        return (out, lse) if return_softmax else out

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
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
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Compute attention; see :func:`flash_attn_interface.flash_attn_qkvpacked_func`."""
        options = {
            "softmax_scale": softmax_scale,
            "causal": causal,
            "qv": None,
            "q_descale": q_descale,
            "k_descale": k_descale,
            "v_descale": v_descale,
            "window_size": window_size,
            "attention_chunk": attention_chunk,
            "softcap": softcap,
            "deterministic": deterministic,
            "sm_margin": sm_margin,
        }
        ctx.num_heads_q, ctx.shape = num_heads_q, qkv.shape
        out, lse = _forward(ctx, *_parts(qkv, num_heads_q), (), options)
        return (out, lse) if return_softmax else out

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradient of qkv."""
        dqkv = dout.new_empty(ctx.shape)
        gradients(ctx, dout, _parts(dqkv, ctx.num_heads_q))
        return dqkv, *(None,) * 12


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
