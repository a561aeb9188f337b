"""The operators that stand for the original's CUTLASS kernels: every dtype, head size and matrix."""

from __future__ import annotations

import torch

from ..._morph import groups
from .common import operators

_BACKWARD = (*groups.PLAIN, *groups.MATRICES, *groups.PACKED)
_FORWARD = (*_BACKWARD, *groups.PACKED_LOCAL, *groups.PADDED[1:])

FwOp, BwOp = operators(
    __name__,
    {"NAME": "cutlassF-pt", "SUPPORTED_ATTN_BIAS_TYPES": _FORWARD},
    {"NAME": "cutlassB-pt", "SUPPORTED_ATTN_BIAS_TYPES": _BACKWARD, "SUPPORTS_ATTN_BIAS_GRAD": True},
    CUDA_MAXIMUM_COMPUTE_CAPABILITY=(9, 0),
    SUPPORTED_DTYPES={torch.float, torch.half, torch.bfloat16},
    SUPPORTS_DIFFERENT_VALUE_EMBED=True,
    VARLEN_LSE_PACKED=False,
)
