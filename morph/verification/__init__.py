"""Checks that the active backend computes what the CPU does."""

from morph.verification.checks import Outcome, Result, checks, ensure_device, verify

__all__ = ["Outcome", "Result", "checks", "ensure_device", "verify"]
