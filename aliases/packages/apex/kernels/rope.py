"""Rotary position embeddings, with the halves of a head's features rotated against each other.

Each ``backward`` takes the gradient of the output, and the arguments of its ``forward`` except the tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor


def forward(t: Tensor, freqs: Tensor, transpose_output_memory: bool = False, /) -> Tensor:
    """Rotate, with the arguments of ``fused_apply_rotary_pos_emb``."""
    return forward_cached(t, freqs.cos(), freqs.sin(), transpose_output_memory)


def backward(output_grads: Tensor, freqs: Tensor, transpose_output_memory: bool = False, /) -> Tensor:
    """Return the gradient of the input of ``forward``."""
    return backward_cached(output_grads, freqs.cos(), freqs.sin(), transpose_output_memory)


def forward_cached(t: Tensor, cos: Tensor, sin: Tensor, transpose_output_memory: bool = False, /) -> Tensor:
    """Do what ``forward`` does, with the cosines and sines of the angles."""
    return _arranged(_rotated(t, cos, sin), transpose_output_memory)


def backward_cached(
    output_grads: Tensor, cos: Tensor, sin: Tensor, transpose_output_memory: bool = False, /
) -> Tensor:
    """Return the gradient of the input of ``forward_cached``."""
    return _arranged(_rotated_back(output_grads, cos, sin), transpose_output_memory)


def forward_thd(t: Tensor, cu_seqlens: Tensor, freqs: Tensor, /) -> Tensor:
    """Rotate concatenated sequences, with the arguments of ``fused_apply_rotary_pos_emb_thd``."""
    angles = _angles(t, cu_seqlens, freqs)
    return _rotated(t, angles.cos(), angles.sin())


def backward_thd(output_grads: Tensor, cu_seqlens: Tensor, freqs: Tensor, /) -> Tensor:
    """Return the gradient of the input of ``forward_thd``."""
    angles = _angles(output_grads, cu_seqlens, freqs)
    return _rotated_back(output_grads, angles.cos(), angles.sin())


def forward_2d(t: Tensor, cos_h: Tensor, sin_h: Tensor, cos_w: Tensor, sin_w: Tensor, /) -> Tensor:
    """Rotate the first half of the features by rows and the second by columns.

    ``t`` is of shape (batch, height, width, heads, features); else like ``fused_apply_rotary_pos_emb_2d``.
    """
    first, second = t.chunk(2, dim=-1)
    by_rows, by_columns = _grid(t, cos_h, sin_h, cos_w, sin_w)
    return torch.cat([_rotated(first, *by_rows), _rotated(second, *by_columns)], dim=-1).flatten(1, 2)


def backward_2d(
    output_grads: Tensor, cos_h: Tensor, sin_h: Tensor, cos_w: Tensor, sin_w: Tensor, /
) -> Tensor:
    """Return the gradient of the input of ``forward_2d``, flattened like its output."""
    first, second = output_grads.chunk(2, dim=-1)
    by_rows, by_columns = _grid(output_grads, cos_h, sin_h, cos_w, sin_w)
    grads = [_rotated_back(first, *by_rows), _rotated_back(second, *by_columns)]
    return torch.cat(grads, dim=-1).flatten(1, 2)


def _rotated(t: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    turning, rest = t[..., : cos.size(-1)].float(), t[..., cos.size(-1) :]
    first, second = turning.chunk(2, dim=-1)
    turned = turning * cos.float() + torch.cat([-second, first], dim=-1) * sin.float()
    return torch.cat([turned.to(t.dtype), rest], dim=-1)


def _rotated_back(grad: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    turned, rest = grad[..., : cos.size(-1)].float(), grad[..., cos.size(-1) :]
    first, second = (turned * sin.float()).chunk(2, dim=-1)
    turning = turned * cos.float() + torch.cat([second, -first], dim=-1)
    return torch.cat([turning.to(grad.dtype), rest], dim=-1)


def _arranged(output: Tensor, batch_first: bool) -> Tensor:
    return output.transpose(0, 1).contiguous().transpose(0, 1) if batch_first else output


def _angles(t: Tensor, cu_seqlens: Tensor, freqs: Tensor) -> Tensor:
    """Return the angles of each position, of shape (total, 1, rotated features)."""
    places = torch.arange(t.size(0), device=t.device)
    begins = cu_seqlens.long()
    sequence = torch.searchsorted(begins, places, right=True) - 1
    return freqs.squeeze(1)[places - begins[sequence]]


def _grid(
    t: Tensor, cos_h: Tensor, sin_h: Tensor, cos_w: Tensor, sin_w: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    height, width = t.size(1), t.size(2)
    by_rows = cos_h[:, :height].unsqueeze(2), sin_h[:, :height].unsqueeze(2)
    by_columns = cos_w[:, :width].unsqueeze(1), sin_w[:, :width].unsqueeze(1)
    return by_rows, by_columns
