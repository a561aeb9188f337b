"""The operators of FlashAttention 3, which the original has for Hopper's GPUs only: not available."""

from __future__ import annotations

from ..._morph import groups
from ..common import register_operator
from . import flash
from .common import AttentionBwOpBase, AttentionFwOpBase


@register_operator
class FwOp(AttentionFwOpBase):
    """The output."""

    OPERATOR = None
    NAME = "fa3F"
    CUDA_MINIMUM_COMPUTE_CAPABILITY = (9, 0)
    SUPPORTED_ATTN_BIAS_TYPES = (*flash.FwOp.SUPPORTED_ATTN_BIAS_TYPES, *groups.PADDED_AROUND)


class FwOp_KVSplit(FwOp):
    """The output, from keys in parts."""

    NAME = "fa3F_splitKV"


@register_operator
class BwOp(AttentionBwOpBase):
    """The gradients."""

    OPERATOR = None
    NAME = "fa3B"
    CUDA_MINIMUM_COMPUTE_CAPABILITY = (9, 0)
    SUPPORTED_ATTN_BIAS_TYPES = flash.BwOp.SUPPORTED_ATTN_BIAS_TYPES
