"""The differentiable functions of flash_attn, over its operators."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .operators.differentiable import (
    NEW,
    Result,
    backward,
    forward,
    keep_options,
    varlen_backward,
    varlen_forward,
)


class FlashAttnFunc(torch.autograd.Function):
    """Attention for a batch of sequences of one length."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        dropout_p: float,
        softmax_scale: float | None,
        causal: bool,
        window_size: tuple[int, int],
        softcap: float,
        alibi_slopes: Tensor | None,
        deterministic: bool,
        return_softmax: bool,
        is_grad_enabled: bool,
    ) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_func`."""
        keep = is_grad_enabled and (q.requires_grad or k.requires_grad or v.requires_grad)
        options = softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
        keep_options(ctx, dropout_p, *options, head_size=q.shape[-1])
        return forward(ctx, q, k, v, return_softmax, keep)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradients of q, k and v."""
        grads = backward(ctx, dout, NEW)
        return *(grad[..., : dout.shape[-1]] for grad in grads), *(None,) * 9


class FlashAttnKVPackedFunc(torch.autograd.Function):
    """Attention with keys and values in one tensor."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        kv: Tensor,
        dropout_p: float,
        softmax_scale: float | None,
        causal: bool,
        window_size: tuple[int, int],
        softcap: float,
        alibi_slopes: Tensor | None,
        deterministic: bool,
        return_softmax: bool,
        is_grad_enabled: bool,
    ) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_kvpacked_func`."""
        keep = is_grad_enabled and (q.requires_grad or kv.requires_grad)
        options = softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
        keep_options(ctx, dropout_p, *options, head_size=q.shape[-1])
        k, v = kv.unbind(2)
        return forward(ctx, q, k, v, return_softmax, keep)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradients of q and kv."""
        k = ctx.saved_tensors[1]
        dkv = k.new_empty(*k.shape[:2], 2, *k.shape[2:])
        dq, *_ = backward(ctx, dout, (None, dkv[:, :, 0], dkv[:, :, 1]))
        return *(grad[..., : dout.shape[-1]] for grad in (dq, dkv)), *(None,) * 9


class FlashAttnQKVPackedFunc(torch.autograd.Function):
    """Attention with queries, keys and values in one tensor."""

    @staticmethod
    def forward(
        ctx: Any,
        qkv: Tensor,
        dropout_p: float,
        softmax_scale: float | None,
        causal: bool,
        window_size: tuple[int, int],
        softcap: float,
        alibi_slopes: Tensor | None,
        deterministic: bool,
        return_softmax: bool,
        is_grad_enabled: bool,
    ) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_qkvpacked_func`."""
        keep = is_grad_enabled and qkv.requires_grad
        options = softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
        keep_options(ctx, dropout_p, *options, head_size=qkv.shape[-1])
        q, k, v = qkv.unbind(2)
        return forward(ctx, q, k, v, return_softmax, keep)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradient of qkv."""
        q = ctx.saved_tensors[0]
        dqkv = q.new_empty(*q.shape[:2], 3, *q.shape[2:])
        backward(ctx, dout, (dqkv[:, :, 0], dqkv[:, :, 1], dqkv[:, :, 2]))
        return dqkv[..., : dout.shape[-1]], *(None,) * 9


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
        max_seqlen_q: int,
        max_seqlen_k: int,
        dropout_p: float,
        softmax_scale: float | None,
        causal: bool,
        window_size: tuple[int, int],
        softcap: float,
        alibi_slopes: Tensor | None,
        deterministic: bool,
        return_softmax: bool,
        block_table: Tensor | None,
        is_grad_enabled: bool,
    ) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_varlen_func`."""
        keep = is_grad_enabled and (q.requires_grad or k.requires_grad or v.requires_grad)
        options = softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
        keep_options(ctx, dropout_p, *options, head_size=q.shape[-1])
        bounds = cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k
        return varlen_forward(ctx, q, k, v, bounds, return_softmax, keep, block_table)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradients of q, k and v."""
        grads = varlen_backward(ctx, dout, NEW)
        return *(grad[..., : dout.shape[-1]] for grad in grads), *(None,) * 14


class FlashAttnVarlenKVPackedFunc(torch.autograd.Function):
    """Attention within sequences of several lengths, with keys and values in one tensor."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        kv: Tensor,
        cu_seqlens_q: Tensor,
        cu_seqlens_k: Tensor,
        max_seqlen_q: int,
        max_seqlen_k: int,
        dropout_p: float,
        softmax_scale: float | None,
        causal: bool,
        window_size: tuple[int, int],
        softcap: float,
        alibi_slopes: Tensor | None,
        deterministic: bool,
        return_softmax: bool,
        is_grad_enabled: bool,
    ) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_varlen_kvpacked_func`."""
        keep = is_grad_enabled and (q.requires_grad or kv.requires_grad)
        options = softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
        keep_options(ctx, dropout_p, *options, head_size=q.shape[-1])
        bounds = cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k
        k, v = kv.unbind(1)
        return varlen_forward(ctx, q, k, v, bounds, return_softmax, keep)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradients of q and kv."""
        k = ctx.saved_tensors[1]
        dkv = k.new_empty(k.shape[0], 2, *k.shape[1:])
        dq, *_ = varlen_backward(ctx, dout, (None, dkv[:, 0], dkv[:, 1]))
        return *(grad[..., : dout.shape[-1]] for grad in (dq, dkv)), *(None,) * 13


class FlashAttnVarlenQKVPackedFunc(torch.autograd.Function):
    """Attention within sequences of several lengths, with queries, keys and values in one tensor."""

    @staticmethod
    def forward(
        ctx: Any,
        qkv: Tensor,
        cu_seqlens: Tensor,
        max_seqlen: int,
        dropout_p: float,
        softmax_scale: float | None,
        causal: bool,
        window_size: tuple[int, int],
        softcap: float,
        alibi_slopes: Tensor | None,
        deterministic: bool,
        return_softmax: bool,
        is_grad_enabled: bool,
    ) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_varlen_qkvpacked_func`."""
        keep = is_grad_enabled and qkv.requires_grad
        options = softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic
        keep_options(ctx, dropout_p, *options, head_size=qkv.shape[-1])
        bounds = cu_seqlens, cu_seqlens, max_seqlen, max_seqlen
        q, k, v = qkv.unbind(1)
        return varlen_forward(ctx, q, k, v, bounds, return_softmax, keep)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradient of qkv."""
        q = ctx.saved_tensors[0]
        dqkv = q.new_empty(q.shape[0], 3, *q.shape[1:])
        varlen_backward(ctx, dout, (dqkv[:, 0], dqkv[:, 1], dqkv[:, 2]))
        return dqkv[..., : dout.shape[-1]], *(None,) * 11
