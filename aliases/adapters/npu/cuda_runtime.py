"""The CUDA runtime's functions on Ascend's runtime."""

from __future__ import annotations

from morph.aliases.adapters.cuda_runtime import Runtime
from morph.backends import vendor_module

CUDA_MAPPED = 0x02
ACL_MAPPED = 0x2
ACL_PINNED = 0x10000000


def cudart() -> Runtime:
    """Implement ``torch.cuda.cudart()``; what torch_npu 2.8 or 2.9 lacks is refused when it is called."""
    npurt = getattr(vendor_module(), "npurt", None)
    return Runtime(npurt() if npurt else None, "npu", register_flags=register_flags)


def register_flags(flags: int) -> int:
    """Convert the flags of ``cudaHostRegister`` to those of ``aclrtHostRegisterV2``.

    CUDA always pins the memory. Its flag for all contexts (1) has no counterpart, as Ascend has one context.
    """
    return ACL_PINNED | (ACL_MAPPED if flags & CUDA_MAPPED else 0)
