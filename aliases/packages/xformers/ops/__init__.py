"""The operators of xformers."""

from __future__ import annotations

import torch
from torch import Tensor

from . import fmha
from .fmha import (
    AttentionBias,
    AttentionOp,
    AttentionOpBase,
    LowerTriangularMask,
    MemoryEfficientAttentionCkOp,
    MemoryEfficientAttentionCutlassFwdFlashBwOp,
    MemoryEfficientAttentionCutlassOp,
    MemoryEfficientAttentionFlashAttentionOp,
    MemoryEfficientAttentionSplitKCkOp,
    memory_efficient_attention,
    memory_efficient_attention_backward,
    memory_efficient_attention_forward,
    memory_efficient_attention_forward_requires_grad,
)
from .indexing import index_select_cat, scaled_index_add
from .rmsnorm import RMSNorm
from .rope_padded import rope_padded
from .swiglu_op import SwiGLU, SwiGLUEagerOp, SwiGLUOp, SwiGLUOpDispatch, swiglu
from .unbind import get_stack_strides, stack_or_none, unbind

AttentionMask = AttentionBias


def masked_matmul(a: Tensor, b: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return ``a @ b`` plus ``mask``, or minus infinity where a boolean mask is False."""
    scores = a @ b
    if mask is None:
        return scores
    return scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask


__all__ = [
    "AttentionBias",
    "AttentionMask",
    "AttentionOp",
    "AttentionOpBase",
    "LowerTriangularMask",
    "MemoryEfficientAttentionCkOp",
    "MemoryEfficientAttentionCutlassFwdFlashBwOp",
    "MemoryEfficientAttentionCutlassOp",
    "MemoryEfficientAttentionFlashAttentionOp",
    "MemoryEfficientAttentionSplitKCkOp",
    "RMSNorm",
    "SwiGLU",
    "SwiGLUEagerOp",
    "SwiGLUOp",
    "SwiGLUOpDispatch",
    "fmha",
    "get_stack_strides",
    "index_select_cat",
    "masked_matmul",
    "memory_efficient_attention",
    "memory_efficient_attention_backward",
    "memory_efficient_attention_forward",
    "memory_efficient_attention_forward_requires_grad",
    "rope_padded",
    "scaled_index_add",
    "stack_or_none",
    "swiglu",
    "unbind",
]
