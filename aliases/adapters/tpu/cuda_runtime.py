"""The CUDA runtime's functions on a TPU, which has no such runtime."""

from __future__ import annotations

from typing import Any

from morph.aliases.adapters import cuda_runtime
from morph.backends.refusal import lacks


class Runtime(cuda_runtime.Runtime):
    """Profiler marks and memory sizes; functions that need a runtime raise an error that names them."""

    def __init__(self) -> None:
        super().__init__(vendor=None, prefix="")

    def _call(self, function: str, *args: int) -> Any:
        raise lacks(f"torch.cuda.cudart().cuda{function}", "PJRT has no memory or streams by address")


_runtime = Runtime()


def cudart() -> Any:
    """Implement ``torch.cuda.cudart()``."""
    return _runtime
