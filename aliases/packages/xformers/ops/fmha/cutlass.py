"""The operators that stand for the original's CUTLASS kernels: every dtype, head size and matrix."""

from __future__ import annotations

import torch

from ..._morph import groups
from ..common import register_operator
from .common import AttentionBwOpBase, AttentionFwOpBase


@register_operator
class FwOp(AttentionFwOpBase):
    """The output."""

    NAME = "cutlassF-pt"
    CUDA_MAXIMUM_COMPUTE_CAPABILITY = (9, 0)
    SUPPORTED_DTYPES = {torch.float, torch.half, torch.bfloat16}
    SUPPORTED_ATTN_BIAS_TYPES = (
        *groups.PLAIN,
        *groups.MATRICES,
        *groups.PACKED,
        *groups.PACKED_LOCAL,
        *groups.PADDED[1:],
    )
    SUPPORTS_DIFFERENT_VALUE_EMBED = True
    VARLEN_LSE_PACKED = False
    _TEST_K = (32, 128, 256)


@register_operator
class BwOp(AttentionBwOpBase):
    """The gradients, also of a matrix."""

    NAME = "cutlassB-pt"
    CUDA_MAXIMUM_COMPUTE_CAPABILITY = FwOp.CUDA_MAXIMUM_COMPUTE_CAPABILITY
    SUPPORTED_DTYPES = FwOp.SUPPORTED_DTYPES
    SUPPORTED_ATTN_BIAS_TYPES = (*groups.PLAIN, *groups.MATRICES, *groups.PACKED)
    SUPPORTS_ATTN_BIAS_GRAD = True
    SUPPORTS_DIFFERENT_VALUE_EMBED = True
    VARLEN_LSE_PACKED = False
    _TEST_K = (32, 128, 256)
