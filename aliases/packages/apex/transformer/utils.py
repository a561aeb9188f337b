"""Integer division."""

from __future__ import annotations


def ensure_divisibility(numerator: int, denominator: int) -> None:
    """Check that the division has no remainder."""
    assert numerator % denominator == 0, f"{numerator} is not divisible by {denominator}"


def divide(numerator: int, denominator: int) -> int:
    """Return the quotient, which must be exact."""
    ensure_divisibility(numerator, denominator)
    return numerator // denominator
