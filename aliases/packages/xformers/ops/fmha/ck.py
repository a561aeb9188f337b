"""The operators that stand for the original's kernels for ROCm; they are available there."""

from __future__ import annotations

import torch

from ..._morph import attention, groups
from .common import operators

_BACKWARD = (*groups.PLAIN, *groups.MATRICES, *groups.PACKED)
_CACHES = (*groups.PADDED, *groups.PADDED_LOCAL, *groups.GAPPY, *groups.PAGED, *groups.PAGED_GAPPY)
_FORWARD = (*_BACKWARD, *groups.PACKED_LOCAL, *_CACHES)

FwOp, BwOp = operators(
    __name__,
    {"NAME": "ckF", "SUPPORTED_ATTN_BIAS_TYPES": _FORWARD, "SUPPORTS_PARTIAL": True},
    {"NAME": "ckB", "SUPPORTED_ATTN_BIAS_TYPES": _BACKWARD, "SUPPORTS_ATTN_BIAS_GRAD": True},
    OPERATOR=None if torch.version.hip is None else attention,
    SUPPORTED_DTYPES={torch.float, torch.half, torch.bfloat16},
    SUPPORTS_DIFFERENT_VALUE_EMBED=True,
)
