"""The functions that a build of torch for CUDA brings, and a driver has to answer."""

from __future__ import annotations

import torch

IS_INSTALLED = torch.version.cuda is not None


def leaves_to_us(name: str) -> bool:
    """Return whether ``torch._C`` lacks a function, or has that of the build for CUDA.

    A vendor's package may have put its own there, which then stays.

    Args:
        name: The function's name, ``"_gather"``.
    """
    own = getattr(torch._C, name, None)
    return own is None or (IS_INSTALLED and getattr(own, "__module__", "") == torch._C.__name__)
