"""Rotations of queries and keys, as differentiable functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..ops.triton.rotary import apply_rotary


class ApplyRotaryEmb(torch.autograd.Function):
    """Rotation of one tensor; ``inplace`` also rotates the gradient in place."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, *options: Any) -> Tensor:
        """Rotate; see :func:`.rotary.apply_rotary_emb`."""
        defaults: tuple[Any, ...] = (False, False, 0, None, None)
        interleaved, inplace, offsets, cu_seqlens, max_seqlen = (*options, *defaults[len(options) :])
        _keep(ctx, cos, sin, cu_seqlens, offsets=offsets)
        ctx.options = {"max_seqlen": max_seqlen, "interleaved": interleaved, "inplace": inplace}
        return apply_rotary(x, cos, sin, offsets, cu_seqlens, **ctx.options)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, do: Tensor) -> tuple[Tensor | None, ...]:
        """Rotate the gradient back."""
        (cos, sin, cu_seqlens), offsets = _kept(ctx)
        grad = apply_rotary(_separate(do), cos, sin, offsets, cu_seqlens, **ctx.options, conjugate=True)
        return grad, *(None,) * 7


def _queries_and_keys(qkv: Tensor, num_heads_q: int | None) -> tuple[Tensor, Tensor]:
    """Return views of the queries and of the keys in ``qkv``."""
    if qkv.dim() == 5:
        assert qkv.shape[2] == 3
        return qkv[:, :, 0], qkv[:, :, 1]
    assert qkv.dim() == 4
    assert num_heads_q is not None
    num_heads_k = (qkv.shape[2] - num_heads_q) // 2
    assert qkv.shape[2] == num_heads_q + 2 * num_heads_k
    return qkv[:, :, :num_heads_q], qkv[:, :, num_heads_q : num_heads_q + num_heads_k]


def _rotate_queries_and_keys(
    ctx: Any, qkv: Tensor, tables: Sequence[Tensor], offsets: int | Tensor, conjugate: bool = False
) -> Tensor:
    cos, sin, cos_k, sin_k = tables
    queries, keys = _queries_and_keys(qkv, ctx.num_heads_q)
    options = {"interleaved": ctx.interleaved, "inplace": True, "conjugate": conjugate}
    apply_rotary(queries, cos, sin, offsets, **options)
    apply_rotary(keys, cos if cos_k is None else cos_k, sin if sin_k is None else sin_k, offsets, **options)
    return qkv


class ApplyRotaryEmbQKV_(torch.autograd.Function):
    """Rotation of queries and keys in one tensor, in place."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, *options: Any) -> Tensor:
        """Rotate; see :func:`.rotary.apply_rotary_emb_qkv_`."""
        *tables, ctx.interleaved, offsets, ctx.num_heads_q = options
        _keep(ctx, *tables, offsets=offsets)
        return _rotate_queries_and_keys(ctx, qkv, tables, offsets)

    @staticmethod
    def backward(ctx: Any, dqkv: Tensor) -> tuple[Tensor | None, ...]:
        """Rotate the gradient back, in place."""
        tables, offsets = _kept(ctx)
        return _rotate_queries_and_keys(ctx, _separate(dqkv), tables, offsets, conjugate=True), *(None,) * 7


class ApplyRotaryEmbKV_(torch.autograd.Function):
    """Rotation of the keys in a tensor of keys and values, in place."""

    @staticmethod
    def forward(ctx: Any, kv: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, offsets: Any) -> Tensor:
        """Rotate; see :func:`.rotary.apply_rotary_emb_kv_`."""
        assert kv.shape[2] == 2
        _keep(ctx, cos, sin, offsets=offsets)
        ctx.interleaved = interleaved
        apply_rotary(kv[:, :, 0], cos, sin, offsets, interleaved=interleaved, inplace=True)
        return kv

    @staticmethod
    def backward(ctx: Any, dkv: Tensor) -> tuple[Tensor | None, ...]:
        """Rotate the gradient back, in place."""
        (cos, sin), offsets = _kept(ctx)
        dkv = _separate(dkv)
        options = {"interleaved": ctx.interleaved, "inplace": True, "conjugate": True}
        apply_rotary(dkv[:, :, 0], cos, sin, offsets, **options)
        return dkv, *(None,) * 4


def _keep(ctx: Any, *tensors: Tensor | None, offsets: int | Tensor) -> None:
    """Save the offsets for the backward pass, through ``save_for_backward`` if they are a tensor."""
    ctx.offsets = None if isinstance(offsets, Tensor) else offsets
    ctx.save_for_backward(*tensors, offsets if isinstance(offsets, Tensor) else None)


def _kept(ctx: Any) -> tuple[tuple[Tensor, ...], int | Tensor]:
    *tensors, offsets = ctx.saved_tensors
    return tuple(tensors), offsets if ctx.offsets is None else ctx.offsets


def _separate(grad: Tensor) -> Tensor:
    """Return a gradient whose elements do not share memory, as those of a sum's gradient do."""
    return grad.contiguous() if 0 in grad.stride() else grad
