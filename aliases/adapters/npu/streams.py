"""Devices that the process has not used yet, for which torch_npu has no streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from morph.backends import vendor_module

Result = TypeVar("Result")


def stream_of(target: Callable[..., Any], device: Any = None) -> Any:
    """Implement ``torch.cuda.current_stream`` and ``torch.cuda.default_stream``.

    Args:
        target: The vendor's function, which refuses a device that was never the current one.
        device: The device; None is the current one.
    """
    return _with_streams(lambda: target(device), device)


def caching_allocator_alloc(
    target: Callable[..., int], size: int, device: Any = None, stream: Any = None
) -> int:
    """Implement ``torch.cuda.caching_allocator_alloc``; the vendor's refuses what ``stream_of`` says."""
    return _with_streams(lambda: target(size, device, stream), device)


def _with_streams(call: Callable[[], Result], device: Any) -> Result:
    try:
        return call()
    except RuntimeError as error:
        if "Uninitialized default NPU stream" not in str(error):  # of libtorch_npu, as of 2.13.0
            raise
    with vendor_module().device(device):
        vendor_module().current_stream()  # makes the device's streams
    return call()
