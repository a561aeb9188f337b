"""Biases of sequences whose keys are in pages: blocks of a fixed number of tokens, anywhere in one tensor."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor

from .caches import (
    BlockDiagonalCausalWithOffsetGappyKeysMask,
    BlockDiagonalCausalWithOffsetPaddedKeysMask,
    BlockDiagonalGappyKeysMask,
    BlockDiagonalPaddedKeysMask,
    padded,
)
from .lengths import _GappySeqInfo, _PaddedSeqLenInfo, _SeqLenInfo
from .packed import PackedBias
from .windows import CAUSAL, Block, materialized

Paged = TypeVar("Paged", bound="PagedBias")


class PagedBias(PackedBias):
    """A bias of keys in pages.

    Attributes:
        block_tables: The pages of each sequence, integers of shape (sequences, most pages).
        page_size: The number of keys in a page.
    """

    block_tables: Tensor
    page_size: int

    def to(self: Paged, device: torch.device) -> Paged:
        """Return it on ``device``."""
        return dataclasses.replace(super().to(device), block_tables=self.block_tables.to(device))  # type: ignore[type-var]

    def ranges(self) -> list[tuple[int, int]]:
        """Return the first key of each sequence, counted from its first page, and one past its last."""
        raise NotImplementedError

    def blocks(self, queries: int, keys: int) -> list[Block]:
        """Return a block for each sequence, with the places of its keys.

        Raises:
            ValueError: If there are more or fewer queries.
        """
        if queries != self.q_seqinfo.seqstart_py[-1]:
            raise ValueError(f"the bias is for {self.q_seqinfo.seqstart_py[-1]} queries, not for {queries}")
        rows = zip(self.q_seqinfo.intervals(), self.ranges(), self.block_tables, strict=True)
        return [
            Block(slice(*own), self._places(table, start, end), end - start, self.window)
            for own, (start, end), table in rows
        ]

    def materialize(
        self, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"
    ) -> Tensor:
        """Return the bias as a matrix for all pages in use; the last size of ``shape`` has no effect."""
        pages = int(self.block_tables.max()) + 1
        shape = (*shape[:-1], pages * self.page_size)
        return materialized(self.blocks(*shape[-2:]), shape, dtype, device)

    def _places(self, table: Tensor, start: int, end: int) -> Tensor:
        logical = torch.arange(start, end, device=table.device)
        return table.long()[logical // self.page_size] * self.page_size + logical % self.page_size


@dataclass
class PagedBlockDiagonalPaddedKeysMask(PagedBias):
    """A query sees the keys of its own sequence that are in use."""

    q_seqinfo: _SeqLenInfo
    k_seqinfo: _PaddedSeqLenInfo
    block_tables: Tensor
    page_size: int
    _UNPAGED_TYPE: ClassVar[type[BlockDiagonalPaddedKeysMask]] = BlockDiagonalPaddedKeysMask

    def ranges(self) -> list[tuple[int, int]]:
        """Return the first key of each sequence, counted from its first page, and one past its last."""
        return [(0, length) for length in self.k_seqinfo.seqlen_py]

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


@dataclass
class PagedBlockDiagonalCausalWithOffsetPaddedKeysMask(PagedBlockDiagonalPaddedKeysMask):
    """Of those keys, a query sees the ones up to its own position, counted from the ends."""

    _UNPAGED_TYPE = BlockDiagonalCausalWithOffsetPaddedKeysMask
    window = CAUSAL


@dataclass
class PagedBlockDiagonalGappyKeysMask(PagedBias):
    """A query sees the keys of its own sequence, which may begin after the first of its pages."""

    q_seqinfo: _SeqLenInfo
    k_seqinfo: _GappySeqInfo
    block_tables: Tensor
    page_size: int
    _UNPAGED_TYPE: ClassVar[type[BlockDiagonalGappyKeysMask]] = BlockDiagonalGappyKeysMask

    def ranges(self) -> list[tuple[int, int]]:
        """Return the first key of each sequence, counted from its first page, and one past its last."""
        return list(zip(self.k_seqinfo.seqstart_py, self.k_seqinfo.seqlen_py))  # noqa: B905 (the end of all)

    @classmethod
    def from_seqlens(
        cls: type[Any],
        q_seqlen: Sequence[int],
        kv_seqstarts: Sequence[int],
        kv_seqlen: Sequence[int],
        block_tables: Tensor,
        page_size: int,
        *,
        device: torch.device | None = None,
    ) -> Any:
        """Return the bias of sequences of these beginnings in their pages, and these lengths."""
        assert len(q_seqlen) == len(kv_seqlen) == len(kv_seqstarts), (q_seqlen, kv_seqlen, kv_seqstarts)
        device = device or block_tables.device
        keys = _GappySeqInfo.from_seqlens_gappy(kv_seqstarts, kv_seqlen, True, device=device)
        return cls(_SeqLenInfo.from_seqlens(q_seqlen, device=device), keys, block_tables, page_size)


@dataclass
class PagedBlockDiagonalCausalWithOffsetGappyKeysMask(PagedBlockDiagonalGappyKeysMask):
    """Of those keys, a query sees the ones up to its own position, counted from the ends."""

    _UNPAGED_TYPE = BlockDiagonalCausalWithOffsetGappyKeysMask
    window = CAUSAL
