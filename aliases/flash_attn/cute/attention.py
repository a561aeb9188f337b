"""Attention of flash_attn 4, forward and backward, as operators that a compiler does not look into."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .._morph import kernels
from .._morph.core import delivered
from .._morph.hopper.request import Request
from .._morph.kernels import Attention
from .checks import FLOAT8, require_inputs

Bounds = tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None, Tensor | None]

_BOUNDS = (
    "Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, Tensor? seqused_q, Tensor? seqused_k, Tensor? page_table"
)
_OPTIONS = "float scale, SymInt left, SymInt right, float softcap"


def window_of(causal: bool, window_size: tuple[int | None, int | None], longest: int) -> tuple[int, int]:
    """Return how many keys before and after its own position a query sees, as flash_attn 4 understands it.

    Args:
        causal: Whether a query sees no later key.
        window_size: How many keys before and after; None for all. Two that leave no key stand for all.
        longest: The most keys of a sequence.

    Returns:
        Two numbers, -1 for all.

    Raises:
        NotImplementedError: If one is negative, so that a query does not see its own position, which morph
            does not serve.
    """
    left, right = window_size
    right = 0 if causal else right
    if left is not None and right is not None and left + right < 0:
        left, right = None, 0 if causal else None
    if min(left or 0, right or 0) < 0:
        raise NotImplementedError("morph does not serve window_size with a negative bound")
    return -1 if left is None or left >= longest else left, -1 if right is None else right


@torch.library.custom_op(
    "flash_attn_4::_flash_attn_forward",
    mutates_args=(),
    schema=f"(Tensor q, Tensor k, Tensor v, Tensor? sink, {_BOUNDS}, {_OPTIONS}) -> (Tensor, Tensor)",
)
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
    """Compute attention.

    Args:
        q: Of shape (batch, queries, heads, head size), or (all queries, heads, head size) with
            ``cu_seqlens_q``.
        k: Of shape (batch, keys, key heads, head size), (all keys, ...) with ``cu_seqlens_k``, or pages.
        v: Of the shape of ``k`` but for the last dimension.
        sink: Of shape (heads,): a score of each head for a key without a value; None for no such key.
        cu_seqlens_q: int32 of shape (batch + 1,).
        cu_seqlens_k: Likewise.
        seqused_q: int32 of shape (batch,).
        seqused_k: Likewise.
        page_table: int32 of shape (batch, most pages of a sequence).
        scale: What the product of a query and a key is multiplied by.
        left: How many keys before its own position a query sees; negative for all.
        right: How many keys after its own position a query sees; negative for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.

    Returns:
        The output; and the logarithm of the softmax's sums, float32 of shape (batch, heads, queries) or
        (heads, all queries), minus infinity where no key is seen.

    Raises:
        AssertionError: If flash_attn does not take the tensors.
    """
    bounds = cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k, page_table
    require_inputs(q, k, v, *bounds, sink)
    if v.dtype in FLOAT8:  # whose every value bfloat16 has
        q, k, v = q.bfloat16(), k.bfloat16(), v.bfloat16()
    request = Request(q, k, v, *bounds)
    with kernels.full_precision(q):
        out, lse = request.attend(Attention(scale, left, right, softcap))
        lse = lse.masked_fill_(lse == math.inf, -math.inf)
        return (out, lse) if sink is None else _with_sink(out, lse, sink)


@torch.library.register_fake("flash_attn_4::_flash_attn_forward")  # type: ignore[untyped-decorator]
def _forward_fake(q: Tensor, k: Tensor, v: Tensor, *args: object) -> tuple[Tensor, Tensor]:
    shape = (q.shape[1], q.shape[0]) if q.dim() == 3 else (q.shape[0], q.shape[2], q.shape[1])
    dtype = torch.bfloat16 if q.dtype in FLOAT8 else q.dtype
    return q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=dtype), q.new_empty(shape, dtype=torch.float32)


@torch.library.custom_op(
    "flash_attn_4::_flash_attn_backward",
    mutates_args=(),
    schema="(Tensor dout, Tensor? dlse, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor? sink, "
    f"{_BOUNDS}, {_OPTIONS}) -> (Tensor, Tensor, Tensor, Tensor)",
)
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
    return *delivered((None, None, None), grads, q.dtype), sink_grad  # type: ignore[return-value]


@torch.library.register_fake("flash_attn_4::_flash_attn_backward")  # type: ignore[untyped-decorator]
def _backward_fake(
    dout: Tensor,
    dlse: Tensor | None,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    sink: Tensor | None,
    *args: object,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inputs = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    return *inputs, lse.new_empty(0) if sink is None else torch.empty_like(sink)


def _with_sink(out: Tensor, lse: Tensor, sink: Tensor) -> tuple[Tensor, Tensor]:
    """Return output and sums as they are with one more key for each head, whose value is 0."""
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
