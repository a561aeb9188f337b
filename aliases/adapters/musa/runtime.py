"""The CUDA runtime's functions on Moore Threads' runtime, which has the same flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morph.aliases.adapters import runtime


class Runtime(runtime.Runtime):
    """The runtime's functions under CUDA's names."""

    def __init__(self, vendor: Any) -> None:
        super().__init__(vendor, "musa", vendor.musaError)

    def cudaGetErrorString(self, error: Any) -> str:
        """Return the meaning of a status code."""
        text: str = self._vendor.musaGetErrorString(error)
        return text


def cudart(target: Callable[[], Any]) -> Runtime:
    """Implement ``torch.cuda.cudart()``.

    Args:
        target: ``torch.musa.musart``.
    """
    return Runtime(target())
