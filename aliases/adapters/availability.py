"""The functions that describe this build of torch to code written for CUDA."""

from __future__ import annotations


def is_built() -> bool:
    """Return True: code written for CUDA sees a torch built with CUDA."""
    return True


def cudnn_is_available() -> bool:
    """Return True: code written for CUDA sees a device with cuDNN."""
    return True


def cudnn_version() -> int:
    """Return the cuDNN version that torch 2.13's own CUDA wheels require (9.20.0)."""
    return 92000


# the toolkit that torch 2.13's own CUDA wheels require (their metadata: cuda-toolkit==13.0.3)
TOOLKIT_VERSION = "13.0"


def amp_definitely_not_available() -> bool:
    """Return False: the device supports autocast and gradient scaling."""
    return False
