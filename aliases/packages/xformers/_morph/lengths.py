"""Sequences of different lengths along one dimension: next to each other, padded, or anywhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

Info = TypeVar("Info", bound="_SeqLenInfo")


def default_device(device: torch.device | None = None) -> torch.device:
    """Return ``device``, or the accelerator if there is one, or the CPU."""
    return device or torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _indices(values: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def _moved(info: Info, device: torch.device, *names: str) -> Info:
    tensors: dict[str, Any] = {name: getattr(info, name).to(device) for name in names}
    return replace(info, **tensors)


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
        return _moved(self, device, "seqstart")

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
class _PaddedSeqLenInfo(_SeqLenInfo):
    """Sequences that begin at multiples of ``padding``, with their own lengths."""

    seqlen: Tensor
    seqlen_py: list[int]
    padding: int

    def __post_init__(self) -> None:
        assert len(self.seqstart_py) == len(self.seqlen_py) + 1

    def to(self, device: torch.device) -> _PaddedSeqLenInfo:
        """Return it on ``device``."""
        return _moved(self, device, "seqstart", "seqlen")

    def read(self) -> None:
        """Read the values that the device has."""
        super().read()
        self.seqlen_py = self.seqlen.tolist()

    def intervals(self) -> Iterable[tuple[int, int]]:
        """Return where each sequence begins and ends."""
        return _used(self.seqstart_py, self.seqlen_py)

    @classmethod
    def from_seqlens(cls, seqlens: Iterable[int], *, device: torch.device | None = None) -> _SeqLenInfo:
        """Refused: a padding is needed."""
        raise RuntimeError("use _PaddedSeqLenInfo.from_seqlens_padded, or _SeqLenInfo.from_seqlens")

    @classmethod
    def from_seqlens_padded(
        cls, seqlens: Sequence[int], padding: int, *, device: torch.device | None = None
    ) -> _PaddedSeqLenInfo:
        """Return sequences of these lengths, each in a place for ``padding`` tokens."""
        lengths = list(seqlens)
        assert all(length <= padding for length in lengths), f"{lengths} do not fit into {padding}"
        starts = list(range(0, len(lengths) * padding + 1, padding))
        device = default_device(device)
        return cls(
            seqstart=_indices(starts, device),
            max_seqlen=max(lengths),
            min_seqlen=min(lengths),
            seqstart_py=starts,
            seqlen=_indices(lengths, device),
            seqlen_py=lengths,
            padding=padding,
        )

    def from_seqlens_padded_inplace(self, seqlens: Sequence[int]) -> None:
        """Change the lengths, of as many sequences and none longer than the longest was."""
        assert all(length <= self.padding for length in seqlens), f"{seqlens} do not fit into {self.padding}"
        assert len(seqlens) == len(self.seqlen_py), "there were more or fewer sequences"
        assert max(seqlens) <= self.max_seqlen, f"{max(seqlens)} is longer than {self.max_seqlen}"
        self.seqlen_py[:] = seqlens
        self.seqlen.copy_(torch.tensor(seqlens, dtype=torch.int32))

    def split(self, x: Tensor, batch_sizes: Sequence[int] | None = None) -> list[Tensor]:
        """Refused, as by the original."""
        raise NotImplementedError("_PaddedSeqLenInfo.split")


@dataclass
class _GappySeqInfo(_SeqLenInfo):
    """Sequences that begin anywhere, with their own lengths.

    In pages, a beginning counts from the first page of the sequence, and ``seqlen`` is where it ends there.
    """

    seqlen: Tensor
    seqlen_py: Sequence[int]

    def to(self, device: torch.device) -> _GappySeqInfo:
        """Return it on ``device``."""
        return _moved(self, device, "seqstart", "seqlen")

    def read(self) -> None:
        """Read the values that the device has."""
        super().read()
        self.seqlen_py = self.seqlen.tolist()

    def intervals(self) -> Iterable[tuple[int, int]]:
        """Return where each sequence begins and ends."""
        return _used(self.seqstart_py, self.seqlen_py)

    @classmethod
    def from_seqlens(cls, seqlens: Iterable[int], *, device: torch.device | None = None) -> _SeqLenInfo:
        """Refused: beginnings are needed."""
        raise NotImplementedError("use _GappySeqInfo.from_seqlens_gappy")

    @classmethod
    def from_seqlens_gappy(
        cls, seqstarts: Sequence[int], seqlens: Sequence[int], paged: bool, *, device: torch.device
    ) -> _GappySeqInfo:
        """Return sequences of these lengths; unless paged, the end of all comes after their beginnings.

        Raises:
            ValueError: If the numbers of beginnings and lengths do not fit.
        """
        starts, lengths = list(seqstarts), list(seqlens)
        if not lengths:
            raise ValueError("No elements")
        if paged:
            starts = [*starts, -1]
        if len(starts) - len(lengths) != 1:
            raise ValueError(f"{len(starts)} beginnings do not fit {len(lengths)} lengths")
        ends = [start + length for start, length in zip(starts, lengths)] if paged else lengths  # noqa: B905
        return cls(
            seqstart=_indices(starts, device),
            max_seqlen=max(lengths),
            min_seqlen=min(lengths),
            seqstart_py=starts,
            seqlen=_indices(ends, device),
            seqlen_py=ends,
        )

    def split(self, x: Tensor, batch_sizes: Sequence[int] | None = None) -> list[Tensor]:
        """Refused, as by the original."""
        raise NotImplementedError("_GappySeqInfo.split")


def _used(starts: Sequence[int], lengths: Sequence[int]) -> list[tuple[int, int]]:
    return [(start, start + length) for start, length in zip(starts, lengths)]  # noqa: B905 (the end of all)
