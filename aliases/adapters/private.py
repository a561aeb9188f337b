"""``torch._C._cuda_*``: functions for devices and streams, implemented with the vendor's module."""

from __future__ import annotations

from typing import Any

import torch

from morph.aliases.adapters.streams import set_stream_by_id
from morph.backends import vendor_module

Place = tuple[int, int, int]  # a stream's id, the index of its device and the kind of the device


def get_device() -> int:
    """Implement ``torch._C._cuda_getDevice()``."""
    return int(torch.cuda.current_device())


def set_device(device: int) -> None:
    """Implement ``torch._C._cuda_setDevice(device)``."""
    torch.cuda.set_device(device)


def current_stream(device: int) -> Place:
    """Implement ``torch._C._cuda_getCurrentStream(device)``."""
    return _place(torch.cuda.current_stream(device))


def default_stream(device: int) -> Place:
    """Implement ``torch._C._cuda_getDefaultStream(device)``."""
    return _place(torch.cuda.default_stream(device))


def current_raw_stream(device: int) -> int:
    """Implement ``torch._C._cuda_getCurrentRawStream(device)``: return the vendor's handle of the stream."""
    return int(torch.cuda.current_stream(device).cuda_stream)


def set_stream(stream_id: int, device_index: int, device_type: int) -> None:
    """Implement ``torch._C._cuda_setStream``, which makes the stream's device current too."""
    set_device(device_index)
    set_stream_by_id(stream_id, device_index, device_type)


def synchronize() -> None:
    """Implement ``torch._C._cuda_synchronize()`` for the current device."""
    torch.cuda.synchronize()


def empty_cache() -> None:
    """Implement ``torch._C._cuda_emptyCache()``."""
    torch.cuda.empty_cache()


def memory_stats(device: int) -> dict[str, Any]:
    """Implement ``torch._C._cuda_memoryStats(device)``, nested as torch nests them."""
    return dict(torch.cuda.memory_stats_as_nested_dict(device))


def is_in_bad_fork() -> bool:
    """Implement ``torch._C._cuda_isInBadFork()``."""
    return bool(vendor_module()._is_in_bad_fork())


def _place(stream: torch.Stream) -> Place:
    return stream.stream_id, stream.device_index, stream.device_type
