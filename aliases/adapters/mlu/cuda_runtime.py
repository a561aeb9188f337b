"""The CUDA runtime's functions on Cambricon's runtime: torch_mlu binds the profiler's and the error texts."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from morph.aliases.adapters import cuda_runtime
from morph.backends import vendor_module


class Runtime(cuda_runtime.Runtime):
    """The runtime's functions under CUDA's names; streams come from torch_mlu's pool."""

    def __init__(self, vendor: Any) -> None:
        super().__init__(vendor, "mlu", vendor.mluError)

    def cudaGetErrorString(self, error: Any) -> str:
        """Return the meaning of a status code."""
        text: str = self._vendor.mluGetErrorStr(error)
        return text

    def cudaProfilerStart(self) -> Any:
        """Start collecting the profile."""
        return self._vendor.mluProfilerStart()

    def cudaProfilerStop(self) -> Any:
        """Stop collecting the profile."""
        return self._vendor.mluProfilerStop()

    def cudaStreamCreate(self, ptr: int) -> Any:
        """Write the handle of a stream to address ``ptr``."""
        ctypes.c_void_p.from_address(ptr).value = vendor_module().Stream().mlu_stream
        return self.cudaError.success

    def cudaStreamDestroy(self, stream: int) -> Any:
        """Succeed: the streams of the pool live as long as the process."""
        return self.cudaError.success


def cudart(target: Callable[[], Any]) -> Runtime:
    """Implement ``torch.cuda.cudart()``.

    Args:
        target: ``torch.mlu.cnrt``.
    """
    return Runtime(target())
