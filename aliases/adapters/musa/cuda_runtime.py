"""The CUDA runtime's functions on Moore Threads' runtime, which has the same flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morph.aliases.adapters import cuda_runtime


class Runtime(cuda_runtime.Runtime):
    """The runtime's functions under CUDA's names."""

    def __init__(self, vendor: Any) -> None:
        super().__init__(vendor, "musa", vendor.musaError)

    def cudaGetErrorString(self, error: Any) -> str:
        """Return the meaning of a status code."""
        text: str = self._vendor.musaGetErrorString(error)
        return text

    def cudaProfilerStart(self) -> Any:
        """Start an attached profiler; before torch_musa 2.11.0.post2 this is a mark in the profile."""
        start = getattr(self._vendor, "musaProfilerStart", super().cudaProfilerStart)
        return start()

    def cudaProfilerStop(self) -> Any:
        """Stop an attached profiler; before torch_musa 2.11.0.post2 this is a mark in the profile."""
        stop = getattr(self._vendor, "musaProfilerStop", super().cudaProfilerStop)
        return stop()


def cudart(target: Callable[[], Any]) -> Runtime:
    """Implement ``torch.cuda.cudart()``.

    Args:
        target: ``torch.musa.musart``.
    """
    return Runtime(target())
