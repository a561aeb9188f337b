"""The operators of xformers."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

from . import fmha
from .fmha import (
    MemoryEfficientAttentionCkOp,
    MemoryEfficientAttentionCutlassFwdFlashBwOp,
    MemoryEfficientAttentionCutlassOp,
    MemoryEfficientAttentionFlashAttentionOp,
    memory_efficient_attention,
    memory_efficient_attention_backward,
    memory_efficient_attention_forward,
    memory_efficient_attention_forward_requires_grad,
)
from .fmha.attn_bias import AttentionBias, LowerTriangularMask
from .fmha.common import AttentionOp, AttentionOpBase
from .indexing import index_select_cat, scaled_index_add
from .rmsnorm import RMSNorm
from .rope_padded import rope_padded
from .swiglu_op import SwiGLU, SwiGLUEagerOp, swiglu
from .unbind import unbind

AttentionMask = AttentionBias
