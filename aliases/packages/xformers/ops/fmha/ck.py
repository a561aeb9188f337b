"""The operators that stand for the original's kernels for ROCm; they are available there."""

from __future__ import annotations

from typing import Any

import torch

from ..._morph import attention, groups
from ..common import register_operator
from .common import AttentionBwOpBase, AttentionFwOpBase

_OPERATOR: Any = None if torch.version.hip is None else attention


@register_operator
class FwOp(AttentionFwOpBase):
    """The output."""

    OPERATOR = _OPERATOR
    NAME = "ckF"
    SUPPORTED_DTYPES = {torch.float, torch.half, torch.bfloat16}
    SUPPORTED_ATTN_BIAS_TYPES = (
        *groups.PLAIN,
        *groups.MATRICES,
        *groups.PACKED,
        *groups.PACKED_LOCAL,
        *groups.PADDED,
        *groups.PADDED_LOCAL,
        *groups.GAPPY,
        *groups.PAGED,
        *groups.PAGED_GAPPY,
    )
    SUPPORTS_DIFFERENT_VALUE_EMBED = True
    SUPPORTS_PARTIAL = True


@register_operator
class BwOp(AttentionBwOpBase):
    """The gradients, also of a matrix."""

    OPERATOR = _OPERATOR
    NAME = "ckB"
    SUPPORTED_DTYPES = FwOp.SUPPORTED_DTYPES
    SUPPORTED_ATTN_BIAS_TYPES = (*groups.PLAIN, *groups.MATRICES, *groups.PACKED)
    SUPPORTS_ATTN_BIAS_GRAD = True
    SUPPORTS_DIFFERENT_VALUE_EMBED = True
