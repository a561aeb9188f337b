"""What the operators of attention have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from morph import backends

from ..._morph import attention, layout
from ..._morph.biases import AttentionBias
from ..._morph.inputs import Inputs, is_bias_of_three_dimensions
from ..common import BaseOperator, register_operator
from . import attn_bias

Inputs.__module__ = __name__
_is_bias_type_supported_in_BMK = is_bias_of_three_dimensions
_CLASSES = [each for each in vars(attn_bias).values() if isinstance(each, type)]
_BIASES = [each for each in _CLASSES if issubclass(each, AttentionBias)]


@dataclass
class Context:
    """What a forward pass leaves for the backward pass.

    Attributes:
        lse: The logarithms of the softmax's sums.
        out: The output.
        rng_state: What determined which weights were dropped.
    """

    lse: Tensor
    out: Tensor
    rng_state: Any = None


@dataclass
class Gradients:
    """The gradients of queries, keys, values and, if it needs one, of the bias."""

    dq: Tensor
    dk: Tensor
    dv: Tensor
    db: Tensor | None = None


class AttentionOpBase(BaseOperator):
    """An operator of attention, which computes any call of its dtypes, as every other does."""

    OPERATOR: Any = attention
    OPERATOR_CATEGORY = "memory_efficient_attention"
    SUPPORTED_DEVICES: frozenset[str] | set[str] = {"cuda"}
    SUPPORTED_DTYPES: set[torch.dtype] = {torch.half, torch.bfloat16}
    SUPPORTED_ATTN_BIAS_TYPES: tuple[type, ...] = (type(None), Tensor, *_BIASES)
    VARLEN_LSE_PACKED = True

    @classmethod
    def supports(cls, d: Inputs) -> bool:
        """Return whether it can compute ``d``."""
        return not cls.not_supported_reasons(d)

    @classmethod
    def not_supported_reasons(cls, d: Inputs) -> list[str]:
        """Return why it cannot compute ``d``: nothing if it can."""
        device, dtype, bias = d.query.device.type, d.query.dtype, d.attn_bias
        wrong = {
            f"device={device} (supported: {set(cls.SUPPORTED_DEVICES)})": not _is_accelerator(device),
            f"dtype={dtype} (supported: {cls.SUPPORTED_DTYPES})": dtype not in cls.SUPPORTED_DTYPES,
            f"attn_bias type is {type(bias)}": not isinstance(bias, cls.SUPPORTED_ATTN_BIAS_TYPES),
            "p=1.0 drops every weight": d.p == 1.0,
            "operator wasn't built": not cls.is_available(),
        }
        return [reason for reason, holds in wrong.items() if holds]


class AttentionFwOpBase(AttentionOpBase):
    """An operator that computes the output."""

    @classmethod
    def apply(cls, inp: Inputs, needs_gradient: bool) -> tuple[Tensor, Context | None]:
        """Compute the output and, if gradients may be needed, what the backward pass needs."""
        query, key, value, matrix = layout.by_head(inp, needs_gradient=False)
        call, dtype = attention.Call.of(inp), inp.get_output_dtype()
        if dtype is not query.dtype:
            query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
        out, lse = attention.forward(call, query, key, value, matrix)
        if inp.query.ndim == 5:
            out = out.reshape(*inp.query.shape[:4], -1)
        if not needs_gradient:
            return out, None
        return out, Context(layout.delivered(inp, lse, cls.VARLEN_LSE_PACKED), out, rng_state=call)


class AttentionBwOpBase(AttentionOpBase):
    """An operator that computes the gradients."""

    @classmethod
    def apply(cls, ctx: Context, inp: Inputs, grad: Tensor) -> Gradients:
        """Compute the gradients."""
        query, key, value, matrix = layout.by_head(inp, needs_gradient=True)
        lse = layout.received(inp, ctx.lse)
        out, grad = (each.flatten(2, 3) if each.ndim == 5 else each for each in (ctx.out, grad))
        call = ctx.rng_state or attention.Call.of(inp)
        grads = attention.backward(call, grad, query, key, value, out, lse, matrix)
        shapes = inp.query.shape, inp.key.shape, inp.value.shape
        dq, dk, dv = (each.reshape(shape) for each, shape in zip(grads[:3], shapes, strict=True))
        return Gradients(dq, dk, dv, grads[3])


def operators(module: str, forward: str, backward: str, **facts: Any) -> tuple[Any, Any]:
    """Make the operators ``FwOp`` and ``BwOp`` of a module, and register them.

    Args:
        module: The module's name.
        forward: The name of the operator for the output.
        backward: The name of the one for the gradients.
        **facts: Where they differ from others.
    """
    bases = ("FwOp", AttentionFwOpBase, forward), ("BwOp", AttentionBwOpBase, backward)
    made = [
        register_operator(type(kind, (base,), {**facts, "NAME": name, "__module__": module}))
        for kind, base, name in bases
    ]
    return made[0], made[1]


AttentionOp = tuple[type[AttentionFwOpBase] | None, type[AttentionBwOpBase] | None]


def bmk2bmhk(tensor: Tensor, num_heads: int) -> Tensor:
    """Return a tensor of shape (batch x heads, length, size) with a dimension of heads."""
    if tensor.ndim == 4:
        return tensor
    return tensor.view(-1, num_heads, *tensor.shape[1:]).transpose(1, 2)


def _is_accelerator(device_type: str) -> bool:
    backend = backends.active()
    return device_type == "cuda" or (backend is not None and device_type == backend.device_type != "cpu")
