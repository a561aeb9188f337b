"""The answers about this build of torch for code that sees CUDA."""

from __future__ import annotations


def is_built() -> bool:
    """Return True: to code that sees CUDA, torch was built with it."""
    return True


def cudnn_is_available() -> bool:
    """Return True: to code that sees CUDA, the device has its library of network kernels."""
    return True


def cudnn_version() -> int:
    """Return the version of cuDNN that torch 2.13's own distributions for CUDA require (9.20.0)."""
    return 92000


# the toolkit that torch 2.13's own distributions for CUDA require (their metadata: cuda-toolkit==13.0.3)
TOOLKIT_VERSION = "13.0"


def amp_definitely_not_available() -> bool:
    """Return False: the device has autocast, and gradients scale on it."""
    return False
