"""The operators that stand for the original's CUTLASS kernels: float32 too, and padded logarithms of sums."""

from __future__ import annotations

import torch

from .common import operators

FwOp, BwOp = operators(
    __name__,
    "cutlassF-pt",
    "cutlassB-pt",
    SUPPORTED_DTYPES={torch.float, torch.half, torch.bfloat16},
    VARLEN_LSE_PACKED=False,
)
