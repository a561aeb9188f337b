"""Attention in memory linear in the sequence: xformers.ops.fmha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..._morph import calls
from ..._morph.calls import (
    _memory_efficient_attention_backward,
    _memory_efficient_attention_forward,
    _memory_efficient_attention_forward_requires_grad,
)
from ..._morph.inputs import Inputs
from ..._morph.merging import merged
from . import attn_bias, ck, ck_splitk, cutlass, cutlass_blackwell, flash, flash3, triton_splitk
from .attn_bias import VARLEN_BIASES, AttentionBias, BlockDiagonalMask, LowerTriangularMask
from .common import (
    AttentionBwOpBase,
    AttentionFwOpBase,
    AttentionOp,
    AttentionOpBase,
    Context,
    Gradients,
    bmk2bmhk,
)
from .dispatch import _dispatch_bw, _dispatch_fw, _get_use_fa3, _set_use_fa3

Bias = Tensor | AttentionBias | None

MemoryEfficientAttentionCutlassOp = (cutlass.FwOp, cutlass.BwOp)
MemoryEfficientAttentionCutlassBlackwellOp = (cutlass_blackwell.FwOp, cutlass_blackwell.BwOp)
MemoryEfficientAttentionCutlassFwdFlashBwOp = (cutlass.FwOp, flash.BwOp)
MemoryEfficientAttentionFlashAttentionOp = (flash.FwOp, flash.BwOp)
MemoryEfficientAttentionCkOp = (ck.FwOp, ck.BwOp)
MemoryEfficientAttentionSplitKCkOp = (ck_splitk.FwOp, ck.BwOp)

_HIP = torch.version.hip is not None
ALL_FW_OPS: list[type[AttentionFwOpBase]] = [
    ck.FwOp if _HIP else cutlass.FwOp,
    cutlass_blackwell.FwOp,
    flash.FwOp,
    flash3.FwOp,
    triton_splitk.FwOp,
]
ALL_BW_OPS: list[type[AttentionBwOpBase]] = [
    ck.BwOp if _HIP else cutlass.BwOp,
    cutlass_blackwell.BwOp,
    flash.BwOp,
    flash3.BwOp,
]


def memory_efficient_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Bias = None,
    p: float = 0.0,
    scale: float | None = None,
    *,
    op: AttentionOp | None = None,
    output_dtype: torch.dtype | None = None,
) -> Tensor:
    """Compute attention, differentiably.

    Args:
        query: Of shape (batch, queries, head size), (batch, queries, heads, head size), or (batch, queries,
            groups, heads of a group, head size).
        key: Likewise; heads may be shared by ``expand``.
        value: Likewise.
        attn_bias: A matrix of shape (batch, heads, queries, keys) that is added to the scores, or a bias
            without one.
        p: The probability that a weight is dropped.
        scale: The factor of the scores; None for 1 / sqrt(head size).
        op: The operators for the output and the gradients, which differ in what they accept; None for any.
        output_dtype: The dtype of the output.

    Returns:
        The output, of the shape of ``query`` with the size of ``value``.

    Raises:
        ValueError: If the arguments do not fit, or ``op`` does not accept them.
        NotImplementedError: If no operator accepts them.
    """
    inputs = Inputs(query, key, value, attn_bias, p, scale, output_dtype)
    return calls.memory_efficient_attention(inputs, op)


def memory_efficient_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Bias = None,
    p: float = 0.0,
    scale: float | None = None,
    *,
    op: type[AttentionFwOpBase] | None = None,
    output_dtype: torch.dtype | None = None,
) -> Tensor:
    """Compute attention without gradients; see :func:`memory_efficient_attention`."""
    inputs = Inputs(query, key, value, attn_bias, p, scale, output_dtype)
    return _memory_efficient_attention_forward(inputs, op)


def memory_efficient_attention_forward_requires_grad(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Bias = None,
    p: float = 0.0,
    scale: float | None = None,
    *,
    op: type[AttentionFwOpBase] | None = None,
    output_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Return what :func:`memory_efficient_attention_backward` needs: the output, and its sums' logarithms.

    Raises:
        NotImplementedError: If weights should be dropped.
    """
    _refuse_dropout(p)
    inputs = Inputs(query, key, value, attn_bias, p, scale, output_dtype)
    out, context = _memory_efficient_attention_forward_requires_grad(inputs, op)
    return out, context.lse


def memory_efficient_attention_backward(
    grad: Tensor,
    output: Tensor,
    lse: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Bias = None,
    p: float = 0.0,
    scale: float | None = None,
    *,
    op: type[AttentionBwOpBase] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of query, key and value, from those of the output.

    Raises:
        NotImplementedError: If weights should be dropped.
    """
    _refuse_dropout(p)
    inputs = Inputs(query, key, value, attn_bias, p, scale)
    grads = _memory_efficient_attention_backward(Context(lse, output), inputs, grad, op)
    return grads.dq, grads.dk, grads.dv


def memory_efficient_attention_partial(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Bias = None,
    p: float = 0.0,
    scale: float | None = None,
    *,
    op: Any = None,
    output_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the output over a part of the keys, float32 by default, and its sums' logarithms.

    Raises:
        NotImplementedError: If weights should be dropped.
    """
    _refuse_dropout(p)
    inputs = Inputs(query, key, value, attn_bias, p, scale, output_dtype, is_partial=True)
    operator = op[0] if isinstance(op, tuple) else op
    out, context = _memory_efficient_attention_forward_requires_grad(inputs, operator)
    return out, context.lse


def merge_attentions(
    attn_split: Tensor | Sequence[Tensor],
    lse_split: Tensor | Sequence[Tensor],
    write_lse: bool = True,
    output_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Combine outputs over parts of the keys, differentiably.

    Args:
        attn_split: The outputs, each of shape (batch, queries, [groups,] heads, size).
        lse_split: The logarithms of their sums, each of shape (batch, [groups,] heads, queries).
        write_lse: Whether to return the logarithms of the sums over all keys.
        output_dtype: The dtype of the output; None for that of the outputs.

    Returns:
        The output over all keys, and the logarithms of its sums, or None.

    Raises:
        ValueError: If the shapes do not fit.
    """
    out, lse = merged(attn_split, lse_split)
    return out.to(output_dtype or attn_split[0].dtype), lse if write_lse else None


def _refuse_dropout(p: float) -> None:
    if p != 0.0:
        message = "dropout is not supported without autograd: call `memory_efficient_attention`"
        raise NotImplementedError(message)


__all__ = [
    "ALL_BW_OPS",
    "ALL_FW_OPS",
    "VARLEN_BIASES",
    "AttentionBias",
    "AttentionOp",
    "AttentionOpBase",
    "BlockDiagonalMask",
    "Context",
    "Gradients",
    "Inputs",
    "LowerTriangularMask",
    "MemoryEfficientAttentionCkOp",
    "MemoryEfficientAttentionCutlassBlackwellOp",
    "MemoryEfficientAttentionCutlassFwdFlashBwOp",
    "MemoryEfficientAttentionCutlassOp",
    "MemoryEfficientAttentionFlashAttentionOp",
    "MemoryEfficientAttentionSplitKCkOp",
    "_dispatch_bw",
    "_dispatch_fw",
    "_get_use_fa3",
    "_set_use_fa3",
    "attn_bias",
    "bmk2bmhk",
    "memory_efficient_attention",
    "memory_efficient_attention_backward",
    "memory_efficient_attention_forward",
    "memory_efficient_attention_forward_requires_grad",
    "memory_efficient_attention_partial",
    "merge_attentions",
]
