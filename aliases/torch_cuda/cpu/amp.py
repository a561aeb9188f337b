"""What torch.amp asks of CUDA before it does anything."""

from __future__ import annotations


def amp_definitely_not_available() -> bool:
    """Return False: the CPU has autocast, and gradients scale on it."""
    return False
