"""Attention in memory linear in the sequence: xformers.ops.fmha."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from morph.aliases.recorded import Recording

from ..._morph import calls
from ..._morph.calls import (
    _memory_efficient_attention_backward,
    _memory_efficient_attention_forward,
    _memory_efficient_attention_forward_requires_grad,
)
from ..._morph.inputs import Inputs
from ..._morph.merging import merged
from . import attn_bias, cutlass, flash, flash3, triton_splitk
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

MemoryEfficientAttentionCutlassOp = (cutlass.FwOp, cutlass.BwOp)
MemoryEfficientAttentionCutlassFwdFlashBwOp = (cutlass.FwOp, flash.BwOp)
MemoryEfficientAttentionFlashAttentionOp = (flash.FwOp, flash.BwOp)
MemoryEfficientAttentionCkOp = MemoryEfficientAttentionCutlassOp  # ROCm's name
ALL_FW_OPS: list[type[AttentionFwOpBase]] = [cutlass.FwOp, flash.FwOp, flash3.FwOp, triton_splitk.FwOp]
ALL_BW_OPS: list[type[AttentionBwOpBase]] = [cutlass.BwOp, flash.BwOp, flash3.BwOp]

_MEANINGS = {
    "query": "of shape (batch, queries, head size), (batch, queries, heads, head size), or (batch, queries, "
    "groups, heads of a group, head size).",
    "key": "likewise; heads may be shared by ``expand``.",
    "value": "likewise.",
    "attn_bias": "a matrix of shape (batch, heads, queries, keys) that is added to the scores, or a bias "
    "without one.",
    "p": "the probability that a weight is dropped.",
    "scale": "the factor of the scores; None for 1 / sqrt(head size).",
    "op": "the operators, which differ in what they accept; None for any.",
    "output_dtype": "the dtype of the output.",
}
_TYPES = {
    "query": Tensor,
    "key": Tensor,
    "value": Tensor,
    "p": float,
    "scale": float,
    "output_dtype": torch.dtype,
}
_INPUTS = "query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None"
_written = Recording("xformers", _TYPES, _MEANINGS).written
_of_inputs = _written(f"({_INPUTS}, output_dtype=None)")


@_of_inputs
def memory_efficient_attention(op: Any, **inputs: Any) -> Tensor:
    """Compute attention, differentiably, and return the output, of the shape of ``query``.

    Raises:
        ValueError: If the arguments do not fit, or ``op`` does not accept them.
        NotImplementedError: If no operator accepts them.
    """
    return calls.memory_efficient_attention(Inputs(**inputs), op)


@torch.no_grad()  # as upstream's operators, which are autograd's only in memory_efficient_attention
@_of_inputs
def memory_efficient_attention_forward(op: Any, **inputs: Any) -> Tensor:
    """Compute attention without gradients; see :func:`memory_efficient_attention`."""
    return _memory_efficient_attention_forward(Inputs(**inputs), op)


@torch.no_grad()
@_of_inputs
def memory_efficient_attention_forward_requires_grad(op: Any, **inputs: Any) -> tuple[Tensor, Tensor]:
    """Return what :func:`memory_efficient_attention_backward` needs: the output, and its sums' logarithms.

    Raises:
        NotImplementedError: If weights should be dropped.
    """
    _refuse_dropout(inputs["p"])
    out, context = _memory_efficient_attention_forward_requires_grad(Inputs(**inputs), op)
    return out, context.lse


@torch.no_grad()
@_written(f"(grad, output, lse, {_INPUTS})")
def memory_efficient_attention_backward(
    grad: Tensor, output: Tensor, lse: Tensor, op: Any, **inputs: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of query, key and value, from those of the output.

    Raises:
        NotImplementedError: If weights should be dropped.
    """
    _refuse_dropout(inputs["p"])
    grads = _memory_efficient_attention_backward(Context(lse, output), Inputs(**inputs), grad, op)
    return grads.dq, grads.dk, grads.dv


@torch.no_grad()
@_of_inputs
def memory_efficient_attention_partial(op: Any, **inputs: Any) -> tuple[Tensor, Tensor]:
    """Return the output over a part of the keys, float32 by default, and its sums' logarithms.

    Raises:
        NotImplementedError: If weights should be dropped.
    """
    _refuse_dropout(inputs["p"])
    operator = op[0] if isinstance(op, tuple) else op
    given = Inputs(**inputs, is_partial=True)
    out, context = _memory_efficient_attention_forward_requires_grad(given, operator)
    return out, context.lse


@_written("(attn_split, lse_split, write_lse=True, output_dtype=None)")
def merge_attentions(
    attn_split: Any, lse_split: Any, write_lse: bool, output_dtype: torch.dtype | None
) -> tuple[Tensor, Tensor | None]:
    """Combine outputs over parts of the keys, differentiably.

    ``attn_split`` are the outputs, each of shape (batch, queries, [groups,] heads, size), and ``lse_split``
    the logarithms of their sums, each of shape (batch, [groups,] heads, queries).

    Returns:
        The output over all keys, and with ``write_lse`` the logarithms of its sums.

    Raises:
        ValueError: If the shapes do not fit.
    """
    out, lse = merged(attn_split, lse_split)
    return out.to(output_dtype or attn_split[0].dtype), lse if write_lse else None


def _refuse_dropout(p: float) -> None:
    if p != 0.0:
        message = "dropout is not supported without autograd: call `memory_efficient_attention`"
        raise NotImplementedError(message)
