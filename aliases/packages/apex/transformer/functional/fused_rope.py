"""Rotary position embeddings, with the halves of a head's features rotated against each other."""

from __future__ import annotations

import torch
from torch import Tensor

from ...kernels.norms import gradients


def fused_apply_rotary_pos_emb(t: Tensor, freqs: Tensor, transpose_output_memory: bool = False) -> Tensor:
    """Rotate the features of each head by angles.

    Args:
        t: Of shape (sequence, batch, heads, features).
        freqs: The angles, of shape (sequence, 1, 1, rotated features), float32.
        transpose_output_memory: Whether the memory layout of the output has the batch first.

    Returns:
        The output, of the shape and dtype of ``t``.
    """
    return fused_apply_rotary_pos_emb_cached(t, freqs.cos(), freqs.sin(), transpose_output_memory)


def fused_apply_rotary_pos_emb_cached(
    t: Tensor, cos_: Tensor, sin_: Tensor, transpose_output_memory: bool = False
) -> Tensor:
    """Do what ``fused_apply_rotary_pos_emb`` does, with the cosines and sines of the angles."""
    output = _rotated(t, cos_, sin_)
    return output.transpose(0, 1).contiguous().transpose(0, 1) if transpose_output_memory else output


def fused_apply_rotary_pos_emb_thd(t: Tensor, cu_seqlens: Tensor, freqs: Tensor) -> Tensor:
    """Rotate concatenated sequences, of shape (total, heads, features).

    ``cu_seqlens`` says where each sequence begins, and the total; ``freqs`` is as long as the longest.
    """
    places = torch.arange(t.size(0), device=t.device)
    begins = cu_seqlens.long()
    angles = freqs.squeeze(1)[places - begins[torch.searchsorted(begins, places, right=True) - 1]]
    return _rotated(t, angles.cos(), angles.sin())


def fused_apply_rotary_pos_emb_2d(
    t: Tensor, img_h: int, img_w: int, cos_h: Tensor, sin_h: Tensor, cos_w: Tensor, sin_w: Tensor
) -> Tensor:
    """Rotate the first half of each head's features by the row of an image, the second by the column.

    Args:
        t: Of shape (batch, rows x columns, heads, features).
        img_h: The number of rows.
        img_w: The number of columns.
        cos_h: The cosines of the angles of a row, of shape (1, at least ``img_h``, 1, features / 2).
        sin_h: Their sines.
        cos_w: The cosines of the angles of a column, of shape (1, at least ``img_w``, 1, features / 2).
        sin_w: Their sines.

    Returns:
        The output, of the shape and dtype of ``t``.
    """
    assert t.size(1) == img_h * img_w, "img_h * img_w should be equal to sequence length"
    assert cos_h.size() == sin_h.size(), "cos_h and sin_h should have the same shape"
    assert cos_w.size() == sin_w.size(), "cos_w and sin_w should have the same shape"
    assert img_h <= cos_h.size(1), "img_h should not be above the rows of cos_h"
    assert img_w <= cos_w.size(1), "img_w should not be above the columns of cos_w"
    upper, lower = t.reshape(t.size(0), img_h, img_w, *t.shape[2:]).chunk(2, dim=-1)
    by_row = _rotated(upper, *(each[:, :img_h].unsqueeze(2) for each in (cos_h, sin_h)))
    by_column = _rotated(lower, *(each[:, :img_w].unsqueeze(1) for each in (cos_w, sin_w)))
    return torch.cat([by_row, by_column], dim=-1).flatten(1, 2)


def _rotated(t: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    turning, rest = t[..., : cos.size(-1)].float(), t[..., cos.size(-1) :]
    first, second = turning.chunk(2, dim=-1)
    turned = turning * cos.float() + torch.cat([-second, first], dim=-1) * sin.float()
    return torch.cat([turned.to(t.dtype), rest], dim=-1)


def backward(output_grads: Tensor, freqs: Tensor, transpose_output_memory: bool = False, /) -> Tensor:
    """Return the gradient of ``t`` in ``fused_apply_rotary_pos_emb``."""
    return backward_cached(output_grads, freqs.cos(), freqs.sin(), transpose_output_memory)


def backward_cached(
    output_grads: Tensor, cos: Tensor, sin: Tensor, transpose_output_memory: bool = False, /
) -> Tensor:
    """Return the gradient of ``t`` in ``fused_apply_rotary_pos_emb_cached``."""
    (grad,) = gradients(lambda t: _rotated(t, cos, sin), output_grads, output_grads)
    return grad.transpose(0, 1).contiguous().transpose(0, 1) if transpose_output_memory else grad


def backward_thd(output_grads: Tensor, cu_seqlens: Tensor, freqs: Tensor, /) -> Tensor:
    """Return the gradient of ``t`` in ``fused_apply_rotary_pos_emb_thd``."""

    def rotated(t: Tensor) -> Tensor:
        return fused_apply_rotary_pos_emb_thd(t, cu_seqlens, freqs)

    return gradients(rotated, output_grads, output_grads)[0]
