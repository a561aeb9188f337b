"""What code that sees CUDA is told about this build of torch."""

from __future__ import annotations


def is_built() -> bool:
    """Return True: to code that sees CUDA, torch was built with it."""
    return True
