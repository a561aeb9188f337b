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
