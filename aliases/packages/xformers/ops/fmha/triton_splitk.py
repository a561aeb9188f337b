"""The operator for decoding, without Triton."""

from __future__ import annotations

from ..common import register_operator
from .common import AttentionFwOpBase


@register_operator
class FwOp(AttentionFwOpBase):
    """The output."""

    NAME = "triton_splitKF"
