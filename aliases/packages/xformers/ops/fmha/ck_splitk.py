"""The operators for decoding on ROCm, with a number of parts of the keys that has no effect here."""

from __future__ import annotations

from typing import ClassVar

import torch

from ..._morph import groups
from . import ck
from .common import AttentionFwOpBase


class FwOp(AttentionFwOpBase):
    """The output."""

    OPERATOR = ck.FwOp.OPERATOR
    NAME = "ck_splitKF"
    SPLIT_K: ClassVar[int | None] = None
    SUPPORTED_DTYPES = {torch.float, torch.half, torch.bfloat16}
    SUPPORTED_MAX_K = 256
    SUPPORTED_ATTN_BIAS_TYPES = (type(None), *groups.PADDED[1:])
    SUPPORTS_DROPOUT = False


def _split(parts: int) -> type[FwOp]:
    fields = {"SPLIT_K": parts, "NAME": f"ck_splitK{parts}", "__module__": __name__}
    return type(f"FwOp_S{parts}", (FwOp,), fields)


FwOp_S1, FwOp_S2, FwOp_S4, FwOp_S8 = map(_split, (1, 2, 4, 8))
FwOp_S16, FwOp_S32, FwOp_S64, FwOp_S128 = map(_split, (16, 32, 64, 128))
