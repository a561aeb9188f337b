"""Biases of sequences whose keys are in a cache: in places of equal size, or in pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from morph.aliases.attention import Part

from .lengths import _PaddedSeqLenInfo, _SeqLenInfo, default_device
from .packed import PackedBias
from .windows import CAUSAL, materialized

Paged = TypeVar("Paged", bound="PagedBlockDiagonalPaddedKeysMask")


@dataclass
class BlockDiagonalPaddedKeysMask(PackedBias):
    """A query sees the keys of its own sequence that are in use, of a place of equal size for each."""

    q_seqinfo: _SeqLenInfo
    k_seqinfo: _PaddedSeqLenInfo

    @classmethod
    def from_seqlens(
        cls: type[Any],
        q_seqlen: Sequence[int],
        kv_padding: int,
        kv_seqlen: Sequence[int],
        causal_diagonal: Any = None,
        *,
        device: torch.device | None = None,
    ) -> Any:
        """Return the bias of sequences of these lengths, with places for ``kv_padding`` keys."""
        return cls(*padded(q_seqlen, kv_padding, kv_seqlen, device))

    def make_paged(self, block_tables: Tensor, page_size: int, paged_type: type[Any]) -> Any:
        """Return the bias of type ``paged_type`` for the same keys in pages."""
        info = dataclasses.replace(self.k_seqinfo, padding=block_tables.shape[1] * page_size)
        return paged_type(self.q_seqinfo, info, block_tables, page_size)


@dataclass
class BlockDiagonalCausalWithOffsetPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """Of those keys, a query sees the ones up to its own position, counted from the ends."""

    causal_diagonal: Any = None
    window = CAUSAL


@dataclass
class PagedBlockDiagonalPaddedKeysMask(PackedBias):
    """A query sees the keys of its own sequence that are in use, in pages anywhere in one tensor.

    Attributes:
        block_tables: The pages of each sequence, integers of shape (sequences, most pages).
        page_size: The number of keys in a page.
    """

    q_seqinfo: _SeqLenInfo
    k_seqinfo: _PaddedSeqLenInfo
    block_tables: Tensor
    page_size: int

    @classmethod
    def from_seqlens(
        cls: type[Any],
        q_seqlen: Sequence[int],
        kv_seqlen: Sequence[int],
        block_tables: Tensor,
        page_size: int,
        *,
        device: torch.device | None = None,
    ) -> Any:
        """Return the bias of sequences of these lengths."""
        padding = block_tables.shape[1] * page_size
        infos = padded(q_seqlen, padding, kv_seqlen, device or block_tables.device)
        return cls(*infos, block_tables, page_size)

    def to(self: Paged, device: torch.device) -> Paged:
        """Return it on ``device``."""
        return dataclasses.replace(super().to(device), block_tables=self.block_tables.to(device))

    def parts(self, queries: int, keys: int) -> list[Part]:
        """Return a part for each sequence, with the places of its keys.

        Raises:
            ValueError: If there are more or fewer queries.
        """
        if queries != self.q_seqinfo.seqstart_py[-1]:
            raise ValueError(f"the bias is for {self.q_seqinfo.seqstart_py[-1]} queries, not for {queries}")
        rows = zip(self.q_seqinfo.intervals(), self.k_seqinfo.seqlen_py, self.block_tables, strict=True)
        return [self.window.part(slice(*own), self._places(table, length)) for own, length, table in rows]

    def materialize(
        self, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"
    ) -> Tensor:
        """Return the bias as a matrix for all pages in use; the last size of ``shape`` has no effect."""
        pages = int(self.block_tables.max()) + 1
        shape = (*shape[:-1], pages * self.page_size)
        return materialized(self.parts(*shape[-2:]), shape, dtype, device)

    def _places(self, table: Tensor, length: int) -> Tensor:
        logical = torch.arange(length, device=table.device)
        return table.long()[logical // self.page_size] * self.page_size + logical % self.page_size


@dataclass
class PagedBlockDiagonalCausalWithOffsetPaddedKeysMask(PagedBlockDiagonalPaddedKeysMask):
    """Of those keys, a query sees the ones up to its own position, counted from the ends."""

    window = CAUSAL


def padded(
    queries: Sequence[int], padding: int, keys: Sequence[int], device: torch.device | None = None
) -> tuple[_SeqLenInfo, _PaddedSeqLenInfo]:
    assert len(queries) == len(keys), (queries, keys)
    device = default_device(device)
    padded = _PaddedSeqLenInfo.from_seqlens_padded(keys, padding, device=device)
    return _SeqLenInfo.from_seqlens(queries, device=device), padded
