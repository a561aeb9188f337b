"""Raw device memory by address, from torch's caching allocator."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

_taken: dict[int, torch.Tensor] = {}


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Implement ``torch.cuda.caching_allocator_alloc``.

    Args:
        size: Bytes.
        device: The device; None is the current one.
        stream: The stream that uses the memory, or its handle; None is the current one.

    Returns:
        The address.
    """
    cuda: Any = torch.cuda
    if isinstance(stream, int):
        stream = cuda.ExternalStream(stream, device)
    current = cuda.stream(stream) if stream is not None else contextlib.nullcontext()
    with cuda.device(device), current:
        block = torch.empty(size, dtype=torch.uint8, device="cuda")
    _taken[block.data_ptr()] = block
    return block.data_ptr()


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free memory that ``caching_allocator_alloc`` returned.

    Raises:
        RuntimeError: If the address is not one that it returned.
    """
    if _taken.pop(mem_ptr, None) is None:
        raise RuntimeError(f"invalid device pointer: {mem_ptr:#x}")
