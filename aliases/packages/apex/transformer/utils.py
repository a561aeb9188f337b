"""Parts of numbers."""

from __future__ import annotations


def ensure_divisibility(numerator: int, denominator: int) -> None:
    """Check that there is no remainder."""
    assert numerator % denominator == 0, f"{numerator} is not divisible by {denominator}"


def divide(numerator: int, denominator: int) -> int:
    """Return the quotient of numbers that must leave no remainder."""
    ensure_divisibility(numerator, denominator)
    return numerator // denominator
