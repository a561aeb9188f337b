"""The operators of FlashAttention 3, which the original has for Hopper's GPUs only: not available."""

from __future__ import annotations

from . import flash
from .common import operators

FwOp, BwOp = operators(
    __name__,
    {"NAME": "fa3F", "SUPPORTED_ATTN_BIAS_TYPES": flash.FwOp.SUPPORTED_ATTN_BIAS_TYPES},
    {"NAME": "fa3B", "SUPPORTED_ATTN_BIAS_TYPES": flash.BwOp.SUPPORTED_ATTN_BIAS_TYPES},
    OPERATOR=None,
    CUDA_MINIMUM_COMPUTE_CAPABILITY=(9, 0),
)
