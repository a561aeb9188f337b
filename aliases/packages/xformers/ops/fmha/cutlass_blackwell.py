"""The operators that the original has only for Blackwell's GPUs: they are not available."""

from __future__ import annotations

from ..._morph import groups
from ..common import register_operator
from .common import AttentionBwOpBase, AttentionFwOpBase


@register_operator
class FwOp(AttentionFwOpBase):
    """The output."""

    OPERATOR = None
    NAME = "cutlassF-blackwell"
    CUDA_MINIMUM_COMPUTE_CAPABILITY = (10, 0)
    SUPPORTED_ATTN_BIAS_TYPES = (*groups.PLAIN, *groups.PACKED)


@register_operator
class BwOp(AttentionBwOpBase):
    """The gradients."""

    OPERATOR = None
    NAME = "cutlassB-blackwell"
    CUDA_MINIMUM_COMPUTE_CAPABILITY = (10, 0)
    SUPPORTED_ATTN_BIAS_TYPES = FwOp.SUPPORTED_ATTN_BIAS_TYPES
