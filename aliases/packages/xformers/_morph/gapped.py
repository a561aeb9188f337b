"""Biases of sequences whose keys have places that are not all in use, as a cache has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .lengths import _GappySeqInfo, _PaddedSeqLenInfo, _SeqLenInfo, default_device
from .packed import PackedBias
from .plain import require_window
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
        return cls(*_infos(q_seqlen, kv_padding, kv_seqlen, device))

    def make_paged(self, block_tables: Tensor, page_size: int, paged_type: type[Any]) -> Any:
        """Return the bias of type ``paged_type`` for the same keys in pages."""
        info = self.k_seqinfo
        padded = _PaddedSeqLenInfo(
            seqstart=info.seqstart,
            max_seqlen=info.max_seqlen,
            min_seqlen=info.min_seqlen,
            seqstart_py=info.seqstart_py,
            seqlen=info.seqlen,
            seqlen_py=info.seqlen_py,
            padding=block_tables.shape[1] * page_size,
        )
        return paged_type(self.q_seqinfo, padded, block_tables, page_size)

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

    @property
    def window(self) -> Window:
        """The keys that a query sees in its sequence."""
        return CAUSAL


@dataclass
class BlockDiagonalLocalAttentionPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """Of those keys, a query sees the ones around it, counted from the ends."""

    window_left: int
    window_right: int

    @property
    def window(self) -> Window:
        """The keys that a query sees in its sequence."""
        return Window(self.window_left, self.window_right)

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
        return cls(*_infos(q_seqlen, kv_padding, kv_seqlen), window_left, window_right)


@dataclass
class BlockDiagonalCausalLocalAttentionPaddedKeysMask(BlockDiagonalPaddedKeysMask):
    """Of those keys, a query sees the last ``_window_size`` up to its own position, counted from the ends."""

    _window_size: int

    def __post_init__(self) -> None:
        require_window(self._window_size)

    @property
    def window(self) -> Window:
        """The keys that a query sees in its sequence."""
        return CAUSAL._replace(left=self._window_size - 1)

    @classmethod
    def from_seqlens_local(
        cls, q_seqlen: Sequence[int], kv_padding: int, kv_seqlen: Sequence[int], window_size: int
    ) -> BlockDiagonalCausalLocalAttentionPaddedKeysMask:
        """Return the bias of sequences of these lengths, with places for ``kv_padding`` keys."""
        return cls(*_infos(q_seqlen, kv_padding, kv_seqlen), window_size)


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
        starts = [start - place for start, place in pairs]
        row = block_tables.shape[1] * page_size
        assert all(0 <= start < row for start in starts), f"{starts} are not in pages of {row} keys"
        info = _GappySeqInfo.from_seqlens_gappy(
            starts, list(self.k_seqinfo.seqlen_py), True, device=block_tables.device
        )
        return paged_type(self.q_seqinfo, info, block_tables, page_size)


@dataclass
class BlockDiagonalCausalWithOffsetGappyKeysMask(BlockDiagonalGappyKeysMask):
    """Of those keys, a query sees the ones up to its own position, counted from the ends."""

    @property
    def window(self) -> Window:
        """The keys that a query sees in its sequence."""
        return CAUSAL


def _infos(
    queries: Sequence[int], padding: int, keys: Sequence[int], device: torch.device | None = None
) -> tuple[_SeqLenInfo, _PaddedSeqLenInfo]:
    assert len(queries) == len(keys), (queries, keys)
    device = default_device(device)
    padded = _PaddedSeqLenInfo.from_seqlens_padded(keys, padding, device=device)
    return _SeqLenInfo.from_seqlens(queries, device=device), padded
