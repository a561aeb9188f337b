"""The steps of a call: checks, the choice of operators, and the computation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from morph.aliases import attention as kernels

from ..ops.fmha.common import AttentionBwOpBase, AttentionFwOpBase, Context, Gradients, bmk2bmhk
from ..ops.fmha.dispatch import NAME, _dispatch_bw, _dispatch_fw, _ensure_op_supports_or_raise
from . import layout
from .attention import Call, MemoryEfficientAttention, traced
from .biases import LowerTriangularMask
from .inputs import Inputs, is_varlen


def memory_efficient_attention(inputs: Inputs, op: Any) -> Tensor:
    """Compute attention, differentiably; see :func:`xformers.ops.memory_efficient_attention`."""
    forward_op, backward_op = op or (None, None)
    if not _needs_gradient(inputs) and not torch.compiler.is_compiling():
        return _memory_efficient_attention_forward(inputs, forward_op)
    inputs.validate_inputs()
    shape = inputs.normalize_bmhk()
    chosen = _chosen(inputs, forward_op, needs_gradient=True)
    if _needs_gradient(inputs):
        _require_backward(inputs, chosen, backward_op)
    query, key, value, matrix = layout.by_head(inputs, needs_gradient=True)
    if torch.compiler.is_compiling():
        return traced(Call.of(inputs), query, key, value, matrix).reshape(shape)
    out = _direct(inputs, query, key, value)
    if out is None:
        function: Any = MemoryEfficientAttention
        out = function.apply(Call.of(inputs), query, key, value, matrix)
    return out.reshape(shape)


def _memory_efficient_attention_forward(inp: Inputs, op: type[AttentionFwOpBase] | None) -> Tensor:
    """Compute attention without gradients."""
    inp.validate_inputs()
    shape = inp.normalize_bmhk()
    operator = _chosen(inp, op, needs_gradient=False)
    query, key, value, _ = layout.by_head(inp, needs_gradient=False)
    out = _direct(inp, query, key, value)
    return (operator.apply(inp, needs_gradient=False)[0] if out is None else out).reshape(shape)


def _memory_efficient_attention_forward_requires_grad(
    inp: Inputs, op: type[AttentionFwOpBase] | None
) -> tuple[Tensor, Context]:
    """Compute attention, and what the backward pass needs."""
    inp.validate_inputs()
    shape = inp.normalize_bmhk()
    out, context = _chosen(inp, op, needs_gradient=True).apply(inp, needs_gradient=True)
    assert context is not None
    return out.reshape(shape), context


def _memory_efficient_attention_backward(
    ctx: Context, inp: Inputs, grad: Tensor, op: type[AttentionBwOpBase] | None
) -> Gradients:
    """Compute the gradients."""
    inp.validate_inputs()
    if not grad.ndim == ctx.out.ndim == inp.query.ndim:
        given = f"grad {tuple(grad.shape)}, out {tuple(ctx.out.shape)}, query {tuple(inp.query.shape)}"
        raise ValueError(f"All tensors should be either in BMK or BMHK format: {given}")
    shapes = [each.shape for each in (inp.query, inp.key, inp.value)]
    inp.normalize_bmhk()
    grad, ctx.out = bmk2bmhk(grad, 1), bmk2bmhk(ctx.out, 1)
    packed = layout.is_packed(inp, ctx.lse)
    if op is None:
        op = _dispatch_bw(inp, packed)
    else:
        _ensure_op_supports_or_raise(ValueError, f"{NAME}_backward", op, inp)
        if packed is not None and packed != op.VARLEN_LSE_PACKED:
            raise ValueError(f"Wrong LSE format for {op.NAME} in variable seqlen case.")
    grads = op.apply(ctx, inp, grad)
    grads.dq, grads.dk, grads.dv = (
        each.reshape(shape) for each, shape in zip((grads.dq, grads.dk, grads.dv), shapes, strict=True)
    )
    return grads


def _needs_gradient(inputs: Inputs) -> bool:
    tensors = inputs.query, inputs.key, inputs.value, inputs.matrix
    return torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in tensors)


def _chosen(
    inputs: Inputs, op: type[AttentionFwOpBase] | None, needs_gradient: bool
) -> type[AttentionFwOpBase]:
    if op is None:
        return _dispatch_fw(inputs, needs_gradient)
    _ensure_op_supports_or_raise(ValueError, NAME, op, inputs)
    return op


def _require_backward(inputs: Inputs, forward_op: Any, op: Any) -> None:
    """Reject what no operator for gradients accepts, and two operators that do not go together."""
    varlen = is_varlen(inputs.attn_bias) and len(inputs.attn_bias.q_seqinfo.seqstart_py) > 2  # type: ignore[union-attr]
    if op is None:
        _dispatch_bw(inputs, forward_op.VARLEN_LSE_PACKED if varlen else None)
        return
    if inputs.p and op.__module__ != forward_op.__module__:
        raise ValueError(f"with dropout, {forward_op.NAME} does not go with {op.NAME}; set op_bw=None")
    if varlen and op.VARLEN_LSE_PACKED != forward_op.VARLEN_LSE_PACKED:
        raise ValueError(f"{op.NAME} and {forward_op.NAME} use different formats of logsumexp")
    _ensure_op_supports_or_raise(ValueError, f"{NAME}_backward", op, inputs)


def _direct(inputs: Inputs, query: Tensor, key: Tensor, value: Tensor) -> Tensor | None:
    """Compute attention, differentiably, with the device's own kernel if it can do exactly this."""
    bias = inputs.attn_bias
    causal = type(bias) is LowerTriangularMask
    plain = inputs.p == 0 and inputs.get_output_dtype() is query.dtype and not inputs.is_partial
    if not plain or not (bias is None or (causal and query.shape[1] == key.shape[1])):
        return None
    tensors = query, key, value
    if query.shape[-1] != value.shape[-1] or not all(
        each.numel() and each.stride(-1) == 1 for each in tensors
    ):
        return None
    return kernels.direct(query, key, value, inputs.scale_float, causal and query.shape[1] > 1)
