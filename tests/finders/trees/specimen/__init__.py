"""A specimen of a served package."""

from .inner.deep import Thing

__version__ = "2.8.4"
__all__ = ["Thing", "add"]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
