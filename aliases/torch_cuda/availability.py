"""What code that sees CUDA is told about this build of torch."""

from __future__ import annotations


def is_built() -> bool:
    """Return True: to code that sees CUDA, torch was built with it."""
    return True


# the toolkit that torch 2.13's own distributions for CUDA require (their metadata: cuda-toolkit==13.0.3)
TOOLKIT_VERSION = "13.0"
