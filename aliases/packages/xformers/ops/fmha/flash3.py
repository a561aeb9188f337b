"""The operators of FlashAttention 3, which the original has for Hopper's GPUs only: not available."""

from __future__ import annotations

from ..._morph import groups
from . import flash
from .common import operators

_FORWARD = (*flash.FwOp.SUPPORTED_ATTN_BIAS_TYPES, *groups.PADDED_AROUND)

FwOp, BwOp = operators(
    __name__,
    {"NAME": "fa3F", "SUPPORTED_ATTN_BIAS_TYPES": _FORWARD},
    {"NAME": "fa3B", "SUPPORTED_ATTN_BIAS_TYPES": flash.BwOp.SUPPORTED_ATTN_BIAS_TYPES},
    OPERATOR=None,
    CUDA_MINIMUM_COMPUTE_CAPABILITY=(9, 0),
)
FwOp_KVSplit = type("FwOp_KVSplit", (FwOp,), {"NAME": "fa3F_splitKV", "__module__": __name__})
