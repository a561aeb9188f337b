"""Whether the active backend computes what the CPU does."""

from morph.verification.checks import Outcome, Result, checks, verify

__all__ = ["Outcome", "Result", "checks", "verify"]
