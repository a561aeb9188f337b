"""The operators that stand for flash-attention: half precision."""

from __future__ import annotations

from .common import operators

FLASH_VERSION = "2.8.4"

FwOp, BwOp = operators(__name__, f"fa2F@{FLASH_VERSION}", f"fa2B@{FLASH_VERSION}", VERSION=FLASH_VERSION)
