"""The CUDA runtime's functions on Ascend's runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morph.aliases.adapters.runtime import Runtime

CUDA_MAPPED = 0x02
ACL_MAPPED = 0x2
ACL_PINNED = 0x10000000


def cudart(target: Callable[[], Any]) -> Runtime:
    """Implement ``torch.cuda.cudart()``.

    Args:
        target: ``torch.npu.npurt``.
    """
    return Runtime(target(), "npu", register_flags=register_flags)


def register_flags(flags: int) -> int:
    """Convert the flags of ``cudaHostRegister`` to those of ``aclrtHostRegisterV2``.

    CUDA always pins the memory. Its flag for all contexts (1) has no counterpart, as Ascend has one context.
    """
    return ACL_PINNED | (ACL_MAPPED if flags & CUDA_MAPPED else 0)
