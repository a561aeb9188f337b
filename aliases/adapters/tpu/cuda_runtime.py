"""The CUDA runtime's functions on a TPU, which has no such runtime."""

from __future__ import annotations

from morph.aliases.adapters.cuda_runtime import NoRuntime

_runtime = NoRuntime(lambda function: "PJRT has no memory or streams by address")


def cudart() -> NoRuntime:
    """Implement ``torch.cuda.cudart()``."""
    return _runtime
