"""The operators that the original has only for Blackwell's GPUs: they are not available."""

from __future__ import annotations

from ..._morph import groups
from .common import operators

FwOp, BwOp = operators(
    __name__,
    {"NAME": "cutlassF-blackwell"},
    {"NAME": "cutlassB-blackwell"},
    OPERATOR=None,
    CUDA_MINIMUM_COMPUTE_CAPABILITY=(10, 0),
    SUPPORTED_ATTN_BIAS_TYPES=(*groups.PLAIN, *groups.PACKED),
)
