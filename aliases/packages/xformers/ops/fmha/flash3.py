"""The operators of FlashAttention 3, which the original has for Hopper's GPUs only: not available."""

from __future__ import annotations

from .common import operators

FwOp, BwOp = operators(__name__, "fa3F", "fa3B", OPERATOR=None)
