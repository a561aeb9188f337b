"""The CUDA runtime's functions on Intel GPUs, for which torch binds no SYCL runtime."""

from __future__ import annotations

from typing import Any

from morph.aliases.adapters import cuda_runtime
from morph.backends.refusal import lacks
from morph.base.status import Status

_PINNING = "SYCL pins memory that it allocates itself; use tensor.pin_memory()"
_STREAMS = "torch binds no runtime of SYCL's; use torch.cuda.Stream"


class Runtime(cuda_runtime.Runtime):
    """Profiler marks and memory sizes; functions that need a runtime raise an error that names them."""

    def __init__(self) -> None:
        super().__init__(vendor=None, prefix="")

    def _call(self, function: str, *args: int) -> Status:
        raise lacks(f"torch.cuda.cudart().cuda{function}", _PINNING if "Host" in function else _STREAMS)


_runtime = Runtime()


def cudart() -> Any:
    """Implement ``torch.cuda.cudart()``."""
    return _runtime
