"""The CUDA runtime's functions on Intel GPUs, for which torch binds no SYCL runtime."""

from __future__ import annotations

from morph.aliases.adapters.cuda_runtime import NoRuntime

_PINNING = "SYCL pins memory that it allocates itself; use tensor.pin_memory()"
_STREAMS = "torch binds no runtime of SYCL's; use torch.cuda.Stream"

_runtime = NoRuntime(lambda function: _PINNING if "Host" in function else _STREAMS)


def cudart() -> NoRuntime:
    """Implement ``torch.cuda.cudart()``."""
    return _runtime
