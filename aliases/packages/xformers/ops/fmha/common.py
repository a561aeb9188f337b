"""What the operators of attention have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from morph import backends

from ..._morph import attention, layout
from ..._morph.inputs import Inputs, is_bias_of_three_dimensions
from ..common import BaseOperator, register_operator

Inputs.__module__ = __name__
_is_bias_type_supported_in_BMK = is_bias_of_three_dimensions


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
    """An operator of attention: what the original's kernel of its name accepts, computed by morph."""

    OPERATOR: Any = attention
    OPERATOR_CATEGORY = "memory_efficient_attention"
    SUPPORTED_DEVICES: frozenset[str] | set[str] = {"cuda"}
    CUDA_MINIMUM_COMPUTE_CAPABILITY: tuple[int, int] = (5, 0)
    CUDA_MAXIMUM_COMPUTE_CAPABILITY: tuple[int, int] | None = None
    SUPPORTED_DTYPES: set[torch.dtype] = {torch.half, torch.bfloat16}
    SUPPORTED_MAX_K: float = 65536
    SUPPORTED_ATTN_BIAS_TYPES: Iterable[Any] = (type(None),)
    SUPPORTS_DROPOUT = True
    SUPPORTS_DIFFERENT_VALUE_EMBED = False
    SUPPORTS_OUTPUT_DTYPE = False
    SUPPORTS_PARTIAL = False
    VARLEN_LSE_PACKED = True

    @classmethod
    def supports(cls, d: Inputs) -> bool:
        """Return whether it can compute ``d``."""
        return not cls.not_supported_reasons(d)

    @classmethod
    def shape_not_supported_reasons(cls, Mq: int, Mkv: int, K: int, Kv: int) -> list[str]:
        """Return why it cannot compute attention of these numbers of queries and keys, and sizes of heads."""
        reasons = []
        if not cls.SUPPORTS_DIFFERENT_VALUE_EMBED and K != Kv:
            reasons.append("query.shape[-1] != value.shape[-1]")
        if max(K, Kv) > cls.SUPPORTED_MAX_K:
            reasons.append(f"max(query.shape[-1], value.shape[-1]) > {cls.SUPPORTED_MAX_K}")
        return reasons

    @classmethod
    def not_supported_reasons(cls, d: Inputs) -> list[str]:
        """Return why it cannot compute ``d``: nothing if it can."""
        device, dtype = d.query.device.type, d.query.dtype
        (_, queries, *_, size), keys = d.query.shape, d.key.shape[1]
        wrong = {
            f"device={device} (supported: {set(cls.SUPPORTED_DEVICES)})": not _is_accelerator(device),
            f"dtype={dtype} (supported: {cls.SUPPORTED_DTYPES})": dtype not in cls.SUPPORTED_DTYPES,
            f"attn_bias type is {type(d.attn_bias)}": type(d.attn_bias) not in cls.SUPPORTED_ATTN_BIAS_TYPES,
            "Custom output dtype not supported": not cls.SUPPORTS_OUTPUT_DTYPE
            and d.output_dtype not in (None, dtype),
            "Partial attention not supported": d.is_partial and not cls.SUPPORTS_PARTIAL,
            "dropout > 0.0": d.p != 0.0 and not cls.SUPPORTS_DROPOUT,
            "p=1.0 drops every weight": d.p == 1.0,
            "operator wasn't built": not cls.is_available(),
        }
        reasons = cls.shape_not_supported_reasons(queries, keys, size, d.value.shape[-1])
        capability = _capability_reasons(cls, d.query) if _is_accelerator(device) else []
        return [*reasons, *(reason for reason, holds in wrong.items() if holds), *capability]


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

    SUPPORTS_ATTN_BIAS_GRAD = False
    SUPPORTS_PARTIAL = True

    @classmethod
    def not_supported_reasons(cls, d: Inputs) -> list[str]:
        """Return why it cannot compute ``d``: nothing if it can."""
        reasons = super().not_supported_reasons(d)
        if isinstance(d.attn_bias, Tensor) and d.attn_bias.requires_grad and not cls.SUPPORTS_ATTN_BIAS_GRAD:
            reasons.append("Computing the bias gradient is not supported (attn_bias.requires_grad = True)")
        return reasons

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


def operators(
    module: str, forward: Mapping[str, Any], backward: Mapping[str, Any], **shared: Any
) -> tuple[Any, Any]:
    """Make the operators ``FwOp`` and ``BwOp`` of a module, and register them.

    Args:
        module: The module's name.
        forward: The facts of the operator for the output.
        backward: The facts of the one for the gradients.
        **shared: The facts of both.
    """
    bases = {"FwOp": (AttentionFwOpBase, forward), "BwOp": (AttentionBwOpBase, backward)}
    made = [
        register_operator(type(name, (base,), {**shared, **facts, "__module__": module}))
        for name, (base, facts) in bases.items()
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


def _capability_reasons(operator: type[AttentionOpBase], query: Tensor) -> list[str]:
    if torch.version.hip is not None:
        return []
    capability, reasons = torch.cuda.get_device_capability(query.device), []
    least, most = operator.CUDA_MINIMUM_COMPUTE_CAPABILITY, operator.CUDA_MAXIMUM_COMPUTE_CAPABILITY
    if capability < least:
        reasons.append(f"requires a device with capability >= {least}, not {capability}")
    if most is not None and capability > most:
        reasons.append(f"requires a device with capability <= {most}, not {capability}")
    if query.dtype is torch.bfloat16 and capability[0] < 8:
        reasons.append("bf16 is only supported on A100+ GPUs")
    return reasons
