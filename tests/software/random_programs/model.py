"""A model of CUDA in plain Python and numpy: memory spaces, buffers in them, tensors as views of buffers.

Nothing here uses torch. Where CUDA raises an error, `RefusedError` contains words of torch's message.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tests.software.random_programs import strides as rules

HOST = "cpu"
DEVICES = ("cuda:0", "cuda:1")
MIXED = "same device"
Numbers = tuple[int, ...]


class RefusedError(Exception):
    """CUDA raises an error that contains these words."""


@dataclasses.dataclass(eq=False)
class Memory:
    """A buffer in one memory space."""

    data: npt.NDArray[np.generic]
    pinned: bool = False
    shared: bool = False


@dataclasses.dataclass(eq=False)
class Storage:
    """The storage of tensors; it can move to another buffer when it grows, unless others own the buffer.

    A borrowed storage covers exactly the elements of the tensor that it was made from.
    """

    space: str
    memory: Memory
    resizable: bool = True
    start: int = 0
    length: int | None = None

    @property
    def size(self) -> int:
        """The number of elements in the storage."""
        return len(self.memory.data) if self.length is None else self.length


@dataclasses.dataclass(eq=False)
class Tensor:
    """A view of a storage; a parameter of a module is one too."""

    storage: Storage
    sizes: Numbers
    strides: Numbers
    offset: int = 0

    @property
    def space(self) -> str:
        """The device, as text."""
        return self.storage.space

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The dtype."""
        return self.storage.memory.data.dtype

    @property
    def view(self) -> npt.NDArray[np.generic]:
        """The elements as a view of the memory."""
        data = self.storage.memory.data
        steps = [stride * data.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(data[self.storage.start + self.offset :], self.sizes, steps)

    @property
    def numel(self) -> int:
        """The number of elements."""
        return int(np.prod(self.sizes, dtype=int))

    def on(self, sizes: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Tensor:
        """Makes another view of the same storage."""
        return Tensor(self.storage, tuple(sizes), tuple(strides), self.offset if offset is None else offset)

    def become(self, other: Tensor) -> None:
        """Takes over another tensor's storage and layout, as ``x.data = y`` does."""
        self.storage, self.sizes, self.strides, self.offset = (
            other.storage,
            other.sizes,
            other.strides,
            other.offset,
        )


def extent(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """Returns the number of elements of memory that a layout spans."""
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def borrowed(lender: Tensor) -> Tensor:
    """Makes a tensor whose storage is another's memory, as exchanged through numpy and DLPack."""
    memory, start = lender.storage.memory, lender.storage.start + lender.offset
    length = extent(lender.sizes, lender.strides)
    storage = Storage(lender.space, memory, resizable=False, start=start, length=length)
    return Tensor(storage, lender.sizes, lender.strides)


def full_index(space: str) -> str:
    """Returns the device with its index; ``"cuda"`` is the current device."""
    return DEVICES[0] if space == "cuda" else space


def fresh(
    values: npt.NDArray[np.generic], space: str, strides: Sequence[int] | None = None, pinned: bool = False
) -> Tensor:
    """Makes a tensor with memory of its own."""
    sizes = values.shape
    steps = rules.contiguous(sizes) if strides is None else tuple(strides)
    memory = Memory(np.zeros(extent(sizes, steps), values.dtype), pinned)
    made = Tensor(Storage(space, memory), tuple(sizes), steps)
    made.view[...] = values
    return made


def copied(source: Tensor, space: str, dtype: npt.DTypeLike = None, *, pinned: bool = False) -> Tensor:
    """Makes a copy that preserves the format."""
    values = source.view.astype(dtype or source.dtype)
    return fresh(values, space, rules.of_a_copy(source.sizes, source.strides), pinned)


def same_device(*tensors: Tensor) -> str:
    """Returns the common device of an operator's arguments; host scalars combine with any device.

    Raises:
        RefusedError: If the arguments are on several devices.
    """
    spaces = {each.space for each in tensors if each.sizes or each.space != HOST} or {HOST}
    if len(spaces) > 1:
        raise RefusedError(MIXED)
    return spaces.pop()


def writable(target: Tensor) -> None:
    """Raises `RefusedError` where torch refuses to write."""
    if rules.overlaps_itself(target.sizes, target.strides):
        raise RefusedError("more than one element of the written-to tensor refers to a single")
