"""Sequences of different lengths along one dimension: next to each other, or padded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

Info = TypeVar("Info", bound="_SeqLenInfo")


def default_device(device: torch.device | None = None) -> torch.device:
    """Return ``device``, or the accelerator if there is one, or the CPU."""
    return device or torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _indices(values: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


@dataclass
class _SeqLenInfo:
    """Sequences next to each other.

    Attributes:
        seqstart: int32 of shape (sequences + 1,): where each begins, and the last one ends.
        max_seqlen: The largest length.
        min_seqlen: The smallest length.
        seqstart_py: The values of ``seqstart``.
    """

    seqstart: Tensor
    max_seqlen: int
    min_seqlen: int
    seqstart_py: list[int]

    def to(self: Info, device: torch.device) -> Info:
        """Return it on ``device``."""
        tensors = {name: each.to(device) for name, each in vars(self).items() if isinstance(each, Tensor)}
        return replace(self, **tensors)  # type: ignore[arg-type]

    def read(self) -> None:
        """Read the values that the device has: a graph's replay takes those, as the original's kernels do."""
        self.seqstart_py = self.seqstart.tolist()

    def intervals(self) -> Iterable[tuple[int, int]]:
        """Return where each sequence begins and ends."""
        return itertools.pairwise(self.seqstart_py)

    @classmethod
    def from_seqlens(cls, seqlens: Iterable[int], *, device: torch.device | None = None) -> _SeqLenInfo:
        """Return sequences of these lengths."""
        lengths = list(seqlens)
        starts = [0, *itertools.accumulate(lengths)]
        least, most = min(lengths, default=-1), max(lengths, default=-1)
        return cls(_indices(starts, default_device(device)), most, least, starts)

    def from_seqlens_inplace(self, seqlens: Iterable[int]) -> None:
        """Change the lengths, of as many sequences and none longer than the longest was."""
        new = type(self).from_seqlens(seqlens, device=self.seqstart.device)
        assert len(new.seqstart_py) == len(self.seqstart_py), "there were more or fewer sequences"
        assert new.max_seqlen <= self.max_seqlen, f"{new.max_seqlen} is longer than {self.max_seqlen}"
        self.seqstart_py[:] = new.seqstart_py
        self.seqstart.copy_(new.seqstart)

    def split(self, x: Tensor, batch_sizes: Sequence[int] | None = None) -> list[Tensor]:
        """Split a tensor of shape (1, all tokens, ...) into the sequences, or batches of them.

        Raises:
            ValueError: If ``x`` has another shape.
        """
        if self.seqstart_py[-1] != x.shape[1] or x.shape[0] != 1:
            raise ValueError(f"shape {tuple(x.shape)} is not (1, {self.seqstart_py[-1]}, ...)")
        sizes = [1] * (len(self.seqstart_py) - 1) if batch_sizes is None else batch_sizes
        ends = [self.seqstart_py[index] for index in itertools.accumulate(sizes, initial=0)]
        parts = torch.split(x, [end - start for start, end in itertools.pairwise(ends)], dim=1)
        return [part.reshape([size, -1, *part.shape[2:]]) for size, part in zip(sizes, parts, strict=True)]


@dataclass
class _Placed(_SeqLenInfo):
    """Sequences with their own lengths, in places of others."""

    seqlen: Tensor
    seqlen_py: list[int]

    def __post_init__(self) -> None:
        assert len(self.seqstart_py) == len(self.seqlen_py) + 1

    def read(self) -> None:
        """Read the values that the device has."""
        super().read()
        self.seqlen_py = self.seqlen.tolist()

    def intervals(self) -> Iterable[tuple[int, int]]:
        """Return where each sequence begins and ends."""
        pairs = zip(self.seqstart_py, self.seqlen_py)  # noqa: B905 (the end of all)
        return [(start, start + length) for start, length in pairs]

    @classmethod
    def from_seqlens(cls, seqlens: Iterable[int], *, device: torch.device | None = None) -> _SeqLenInfo:
        """Refused, as by the original: places are needed."""
        raise NotImplementedError(f"{cls.__name__} needs places: use its other constructor")

    def split(self, x: Tensor, batch_sizes: Sequence[int] | None = None) -> list[Tensor]:
        """Refused, as by the original."""
        raise NotImplementedError(f"{type(self).__name__}.split")


@dataclass
class _PaddedSeqLenInfo(_Placed):
    """Sequences that begin at multiples of ``padding``, with their own lengths."""

    padding: int

    @classmethod
    def from_seqlens_padded(
        cls, seqlens: Sequence[int], padding: int, *, device: torch.device | None = None
    ) -> _PaddedSeqLenInfo:
        """Return sequences of these lengths, each in a place for ``padding`` tokens."""
        lengths, device = list(seqlens), default_device(device)
        assert all(length <= padding for length in lengths), f"{lengths} do not fit into {padding}"
        starts = list(range(0, len(lengths) * padding + 1, padding))
        ends = _indices(starts, device), max(lengths), min(lengths), starts
        return cls(*ends, seqlen=_indices(lengths, device), seqlen_py=lengths, padding=padding)

    def from_seqlens_padded_inplace(self, seqlens: Sequence[int]) -> None:
        """Change the lengths, of as many sequences and none longer than the longest was."""
        assert all(length <= self.padding for length in seqlens), f"{seqlens} do not fit into {self.padding}"
        assert len(seqlens) == len(self.seqlen_py), "there were more or fewer sequences"
        assert max(seqlens) <= self.max_seqlen, f"{max(seqlens)} is longer than {self.max_seqlen}"
        self.seqlen_py[:] = seqlens
        self.seqlen.copy_(torch.tensor(seqlens, dtype=torch.int32))
