"""Rotary position embeddings."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...kernels import rope


class FusedRoPEFunc(torch.autograd.Function):
    """The rotation: ``apply(t, freqs, transpose_output_memory)``."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, freqs: Tensor, transpose_output_memory: bool = False) -> Tensor:
        """Return the rotated tensor."""
        ctx.save_for_backward(freqs)
        ctx.transpose_output_memory = transpose_output_memory
        return rope.forward(t, freqs, transpose_output_memory)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the tensor."""
        (freqs,) = ctx.saved_tensors
        return rope.backward(grad_output, freqs, ctx.transpose_output_memory), None, None


class FusedRoPECachedFunc(torch.autograd.Function):
    """The rotation: ``apply(t, cos_, sin_, transpose_output_memory)``."""

    @staticmethod
    def forward(
        ctx: Any, t: Tensor, cos_: Tensor, sin_: Tensor, transpose_output_memory: bool = False
    ) -> Tensor:
        """Return the rotated tensor."""
        ctx.save_for_backward(cos_, sin_)
        ctx.transpose_output_memory = transpose_output_memory
        return rope.forward_cached(t, cos_, sin_, transpose_output_memory)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the tensor."""
        cos, sin = ctx.saved_tensors
        return rope.backward_cached(grad_output, cos, sin, ctx.transpose_output_memory), None, None, None


class FusedRoPETHDFunc(torch.autograd.Function):
    """The rotation of concatenated sequences: ``apply(t, cu_seqlens, freqs)``."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, cu_seqlens: Tensor, freqs: Tensor) -> Tensor:
        """Return the rotated tensor."""
        ctx.save_for_backward(cu_seqlens, freqs)
        return rope.forward_thd(t, cu_seqlens, freqs)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the tensor."""
        cu_seqlens, freqs = ctx.saved_tensors
        return rope.backward_thd(grad_output, cu_seqlens, freqs), None, None


class FusedRoPE2DFunc(torch.autograd.Function):
    """The rotation of images: ``apply(t, img_h, img_w, cos_h, sin_h, cos_w, sin_w)``."""

    @staticmethod
    def forward(
        ctx: Any,
        t: Tensor,
        img_h: int,
        img_w: int,
        cos_h: Tensor,
        sin_h: Tensor,
        cos_w: Tensor,
        sin_w: Tensor,
    ) -> Tensor:
        """Return the rotated tensor."""
        ctx.save_for_backward(cos_h, sin_h, cos_w, sin_w)
        ctx.size = img_h, img_w
        return rope.forward_2d(torch.unflatten(t, 1, (img_h, img_w)), cos_h, sin_h, cos_w, sin_w)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the tensor."""
        cos_h, sin_h, cos_w, sin_w = ctx.saved_tensors
        grad = rope.backward_2d(torch.unflatten(grad_output, 1, ctx.size), cos_h, sin_h, cos_w, sin_w)
        return grad, *(None,) * 6


def fused_apply_rotary_pos_emb(t: Tensor, freqs: Tensor, transpose_output_memory: bool = False) -> Tensor:
    """Rotate the features of each head by angles.

    Args:
        t: Of shape (sequence, batch, heads, features).
        freqs: The angles, of shape (sequence, 1, 1, rotated features), float32.
        transpose_output_memory: Whether the memory layout of the output has the batch first.

    Returns:
        The output, of the shape and dtype of ``t``.
    """
    return _applied(FusedRoPEFunc, t, freqs, transpose_output_memory)


def fused_apply_rotary_pos_emb_cached(
    t: Tensor, cos_: Tensor, sin_: Tensor, transpose_output_memory: bool = False
) -> Tensor:
    """Do what ``fused_apply_rotary_pos_emb`` does, with the cosines and sines of the angles."""
    return _applied(FusedRoPECachedFunc, t, cos_, sin_, transpose_output_memory)


def fused_apply_rotary_pos_emb_thd(t: Tensor, cu_seqlens: Tensor, freqs: Tensor) -> Tensor:
    """Rotate concatenated sequences.

    Args:
        t: Of shape (total, heads, features).
        cu_seqlens: Where each sequence begins, and the total, of shape (sequences + 1,), int32.
        freqs: The angles, of shape (longest, 1, 1, rotated features), float32.

    Returns:
        The output, of the shape and dtype of ``t``.
    """
    return _applied(FusedRoPETHDFunc, t, cu_seqlens, freqs)


def fused_apply_rotary_pos_emb_2d(
    t: Tensor, img_h: int, img_w: int, cos_h: Tensor, sin_h: Tensor, cos_w: Tensor, sin_w: Tensor
) -> Tensor:
    """Rotate the first half of the features by rows and the second by columns.

    Args:
        t: Of shape (batch, height * width, heads, features).
        img_h: The height.
        img_w: The width.
        cos_h: Cosines of the angles of rows, of shape (1, rows, 1, features / 2), like ``sin_h``.
        sin_h: See ``cos_h``.
        cos_w: Cosines of the angles of columns, of shape (1, columns, 1, features / 2), like ``sin_w``.
        sin_w: See ``cos_w``.

    Returns:
        The output, of the shape and dtype of ``t``.
    """
    assert t.size(1) == img_h * img_w, "The sequence length should be equal to img_h * img_w"
    assert cos_h.size() == sin_h.size(), "The shape of cos_h and sin_h should be the same"
    assert cos_w.size() == sin_w.size(), "The shape of cos_w and sin_w should be the same"
    return _applied(FusedRoPE2DFunc, t, img_h, img_w, cos_h, sin_h, cos_w, sin_w)


def _applied(function: Any, *args: Any) -> Tensor:
    output: Tensor = function.apply(*args)
    return output
