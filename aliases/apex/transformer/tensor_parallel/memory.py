"""Memory that is taken once and given out in pieces."""

from __future__ import annotations

import torch
from torch import Tensor

_MEM_BUFFS: dict[str, MemoryBuffer] = {}


def allocate_mem_buff(name: str, numel: int, dtype: torch.dtype, track_usage: bool) -> MemoryBuffer:
    """Take memory under a name that is not taken yet; the arguments are those of ``MemoryBuffer``."""
    assert name not in _MEM_BUFFS, f"memory buffer {name} already allocated."
    _MEM_BUFFS[name] = MemoryBuffer(name, numel, dtype, track_usage)
    return _MEM_BUFFS[name]


def get_mem_buff(name: str) -> MemoryBuffer:
    """Return the memory that was taken under a name."""
    return _MEM_BUFFS[name]


class MemoryBuffer:
    """Memory for tensors of one dtype.

    Args:
        name: What it is called.
        numel: How many elements there are.
        dtype: Their dtype.
        track_usage: Whether it is counted how much of it is in use.
    """

    def __init__(self, name: str, numel: int, dtype: torch.dtype, track_usage: bool) -> None:
        self.name = name
        self.numel = numel
        self.dtype = dtype
        self.data = torch.empty(numel, dtype=dtype, device="cuda")
        self._start = 0
        self.track_usage = track_usage
        self.in_use_value = 0.0
        self.total_value = 0.0

    def reset(self) -> None:
        """Take all pieces back."""
        self._start = 0

    def is_in_use(self) -> bool:
        """Tell whether there are pieces."""
        return self._start > 0

    def numel_in_use(self) -> int:
        """Return how many elements the pieces have."""
        return self._start

    def add(self, tensor: Tensor) -> Tensor:
        """Return a copy of ``tensor`` in this memory."""
        assert tensor.dtype == self.dtype, (
            f"Input tensor type {tensor.dtype} different from buffer type {self.dtype}"
        )
        end = self._start + tensor.numel()
        assert end <= self.numel, (
            f"Not enough memory left in the buffer ({tensor.numel()} > {self.numel - self._start})"
        )
        piece = self.data[self._start : end].view(tensor.shape)
        self._start = end
        return piece.copy_(tensor)

    def get_data(self) -> Tensor:
        """Return the memory that is in use."""
        if self.track_usage:
            self.in_use_value += self._start
            self.total_value += self.numel
        return self.data[: self._start]

    def print_average_usage(self) -> None:
        """Print how much was in use on the average, in the first process."""
        assert self.track_usage, "You need to enable track usage."
        if torch.distributed.get_rank() == 0:
            share = self.in_use_value * 100.0 / self.total_value
            print(f" > usage of {self.name} memory buffer: {share:.2f} %", flush=True)


class RingMemBuffer:
    """Several memories, given out one after the other.

    Args:
        name: What they are called, followed by their numbers.
        num_buffers: How many there are.
        numel: How many elements each has.
        dtype: Their dtype.
        track_usage: Whether it is counted how much of each is in use.
    """

    def __init__(
        self, name: str, num_buffers: int, numel: int, dtype: torch.dtype, track_usage: bool
    ) -> None:
        self.num_buffers = num_buffers
        self.buffers = [
            allocate_mem_buff(f"{name} {number}", numel, dtype, track_usage) for number in range(num_buffers)
        ]
        self._index = -1

    def get_next_buffer(self) -> MemoryBuffer:
        """Return the next memory, which must not be in use."""
        self._index = (self._index + 1) % self.num_buffers
        buffer = self.buffers[self._index]
        assert not buffer.is_in_use(), "buffer is already in use."
        return buffer
