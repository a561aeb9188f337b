"""Attention of flash_attn 4, forward and backward, as operators that are opaque to a compiler."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.library import custom_op, register_fake

from morph.aliases import attention as kernels
from morph.aliases.attention import Attention

from .._morph.core import NEW, delivered
from .._morph.hopper.request import Request
from .checks import FLOAT8, require_inputs


@custom_op("flash_attn_4::_flash_attn_forward", mutates_args=())
def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sink: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    seqused_q: Tensor | None,
    seqused_k: Tensor | None,
    page_table: Tensor | None,
    scale: float,
    left: int,
    right: int,
    softcap: float,
) -> tuple[Tensor, Tensor]:
    """Compute attention of the tensors that :func:`flash_attn.cute.flash_attn_varlen_func` describes.

    ``left`` and ``right`` are how many keys before and after its own position a query sees, -1 for all.

    Returns:
        The output; and the logarithm of the softmax's sums, float32 of shape (batch, heads, queries) or
        (heads, all queries), minus infinity where no key is seen.

    Raises:
        AssertionError: If flash_attn does not accept the tensors.
    """
    bounds = cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k, page_table
    require_inputs(q, k, v, *bounds, sink)
    if v.dtype in FLOAT8:  # bfloat16 represents all of its values
        q, k, v = q.bfloat16(), k.bfloat16(), v.bfloat16()
    request = Request(q, k, v, *bounds)
    with kernels.full_precision(q):
        out, lse = request.attend(Attention(scale, left, right, softcap))
        lse = lse.masked_fill_(lse == math.inf, -math.inf)
        return (out, lse) if sink is None else _with_sink(out, lse, sink)


@custom_op("flash_attn_4::_flash_attn_backward", mutates_args=())
def backward(
    dout: Tensor,
    dlse: Tensor | None,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    sink: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    seqused_q: Tensor | None,
    seqused_k: Tensor | None,
    page_table: Tensor | None,
    scale: float,
    left: int,
    right: int,
    softcap: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute the gradients of :func:`forward`, of its outputs' gradients ``dout`` and ``dlse``.

    Returns:
        The gradients of ``q``, ``k``, ``v`` and ``sink``; an empty tensor for no sink.

    Raises:
        NotImplementedError: If the keys lie in pages.
    """
    if page_table is not None:
        raise NotImplementedError("morph does not serve gradients with page_table")
    request = Request(q, k, v, cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k)
    with kernels.full_precision(q):
        grads = request.differentiate(Attention(scale, left, right, softcap), dout, out, lse, dlse)
        sink_grad = lse.new_empty(0) if sink is None else _of_sink(sink, dout, out, lse, dlse)
    return *delivered(NEW, grads, q.dtype), sink_grad  # type: ignore[return-value]


@register_fake("flash_attn_4::_flash_attn_forward")  # type: ignore[untyped-decorator]
def _forward_fake(q: Tensor, k: Tensor, v: Tensor, *args: object) -> tuple[Tensor, Tensor]:
    shape = *q.shape[:-3], q.shape[-2], q.shape[-3]
    dtype = torch.bfloat16 if q.dtype in FLOAT8 else q.dtype
    return q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=dtype), q.new_empty(shape, dtype=torch.float32)


@register_fake("flash_attn_4::_flash_attn_backward")  # type: ignore[untyped-decorator]
def _backward_fake(dout: Tensor, dlse: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    q, k, v, _, lse, sink = tensors[:6]
    inputs = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    return *inputs, lse.new_empty(0) if sink is None else torch.empty_like(sink)


for _operator in (forward, backward):
    kernels.as_one_kernel(_operator)


def _with_sink(out: Tensor, lse: Tensor, sink: Tensor) -> tuple[Tensor, Tensor]:
    """Return output and sums with one more key for each head, whose value is 0."""
    total = torch.logaddexp(lse, sink.float()[:, None])
    part = (lse - total).exp().transpose(-1, -2)[..., None]
    return (out * part).to(out.dtype), total


def _of_sink(sink: Tensor, dout: Tensor, out: Tensor, lse: Tensor, dlse: Tensor | None) -> Tensor:
    """Return the gradient of the sinks."""
    slope = -(dout.float() * out.float()).sum(-1).transpose(-1, -2)
    if dlse is not None:
        slope = slope + dlse
    weighted = (sink.float()[:, None] - lse).exp() * slope
    heads = weighted.sum(-1)
    return (heads if heads.dim() == 1 else heads.sum(0)).to(sink.dtype)
