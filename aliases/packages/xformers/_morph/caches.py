"""Biases of sequences whose keys are in a cache: in places of equal size, or anywhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .lengths import _GappySeqInfo, _PaddedSeqLenInfo, _SeqLenInfo, default_device
from .packed import PackedBias
from .windows import CAUSAL, Window


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

    def make_local_attention(
        self, window_left: int, window_right: int
    ) -> BlockDiagonalLocalAttentionPaddedKeysMask:
        """Return it with the keys from ``window_left`` before a query to ``window_right`` after it."""
        fields = self.q_seqinfo, self.k_seqinfo
        return BlockDiagonalLocalAttentionPaddedKeysMask(*fields, window_left, window_right)


@dataclass
class BlockDiagonalCausalWithOffsetPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """Of those keys, a query sees the ones up to its own position, counted from the ends."""

    causal_diagonal: Any = None
    window = CAUSAL


@dataclass
class BlockDiagonalLocalAttentionPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """Of those keys, a query sees the ones around it, counted from the ends."""

    window_left: int
    window_right: int

    def __post_init__(self) -> None:
        self.window = Window(self.window_left, self.window_right)

    @classmethod
    def from_seqlens_local(
        cls,
        q_seqlen: Sequence[int],
        kv_padding: int,
        kv_seqlen: Sequence[int],
        window_left: int,
        window_right: int,
    ) -> BlockDiagonalLocalAttentionPaddedKeysMask:
        """Return the bias of sequences of these lengths, with places for ``kv_padding`` keys."""
        return cls(*padded(q_seqlen, kv_padding, kv_seqlen), window_left, window_right)


@dataclass
class BlockDiagonalCausalLocalAttentionPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """Of those keys, a query sees the last ``_window_size`` up to its own position, counted from the ends."""

    _window_size: int

    def __post_init__(self) -> None:
        self.window = CAUSAL.of_size(self._window_size)

    @classmethod
    def from_seqlens_local(
        cls, q_seqlen: Sequence[int], kv_padding: int, kv_seqlen: Sequence[int], window_size: int
    ) -> BlockDiagonalCausalLocalAttentionPaddedKeysMask:
        """Return the bias of sequences of these lengths, with places for ``kv_padding`` keys."""
        return cls(*padded(q_seqlen, kv_padding, kv_seqlen), window_size)


@dataclass
class BlockDiagonalGappyKeysMask(PackedBias):
    """A query sees the keys of its own sequence, which may be anywhere."""

    q_seqinfo: _SeqLenInfo
    k_seqinfo: _GappySeqInfo

    @classmethod
    def from_seqlens(
        cls: type[Any],
        q_seqlen: Sequence[int],
        kv_seqstarts: Sequence[int],
        kv_seqlen: Sequence[int],
        *,
        device: torch.device | None = None,
    ) -> Any:
        """Return the bias of sequences of these lengths; after their beginnings comes the end of all."""
        assert len(q_seqlen) == len(kv_seqlen), (q_seqlen, kv_seqlen)
        device = default_device(device)
        keys = _GappySeqInfo.from_seqlens_gappy(kv_seqstarts, kv_seqlen, False, device=device)
        return cls(_SeqLenInfo.from_seqlens(q_seqlen, device=device), keys)

    def make_paged(
        self, block_tables: Tensor, page_size: int, notional_padding: int, paged_type: type[Any]
    ) -> Any:
        """Return the bias of type ``paged_type`` for the same keys in pages.

        Args:
            block_tables: The pages of each sequence, int32 of shape (sequences, most pages).
            page_size: The number of keys in a page.
            notional_padding: The number of keys between the places of two sequences.
            paged_type: The type of the new bias.

        Raises:
            ValueError: If places and pages do not fit.
        """
        if notional_padding % page_size:
            raise ValueError(
                "Notional padding should be divisible by the page size,"
                f" but got {notional_padding=}, {page_size=}."
            )
        places = range(0, notional_padding * len(self.k_seqinfo.seqlen_py), notional_padding)
        pairs = zip(self.k_seqinfo.seqstart_py, places)  # noqa: B905 (the end of all)
        starts, row = [start - place for start, place in pairs], block_tables.shape[1] * page_size
        assert all(0 <= start < row for start in starts), f"{starts} are not in pages of {row} keys"
        lengths = list(self.k_seqinfo.seqlen_py)
        info = _GappySeqInfo.from_seqlens_gappy(starts, lengths, True, device=block_tables.device)
        return paged_type(self.q_seqinfo, info, block_tables, page_size)


@dataclass
class BlockDiagonalCausalWithOffsetGappyKeysMask(BlockDiagonalGappyKeysMask):
    """Of those keys, a query sees the ones up to its own position, counted from the ends."""

    window = CAUSAL


def padded(
    queries: Sequence[int], padding: int, keys: Sequence[int], device: torch.device | None = None
) -> tuple[_SeqLenInfo, _PaddedSeqLenInfo]:
    assert len(queries) == len(keys), (queries, keys)
    device = default_device(device)
    padded = _PaddedSeqLenInfo.from_seqlens_padded(keys, padding, device=device)
    return _SeqLenInfo.from_seqlens(queries, device=device), padded
