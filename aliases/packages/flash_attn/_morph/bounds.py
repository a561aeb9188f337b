"""The positions of sequences of different lengths, in tensors or in pages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, int32

from morph.aliases.attention import Packing
from morph.aliases.attention.packed import Range

from .checks import require, require_device, require_indices, require_shape

PAGES_AND_LEFTPAD = "We don't support Paged KV and leftpad_k running at the same time yet"


@dataclass(frozen=True)
class Bounds:
    """The sequences of a call of flash_attn 2.

    Attributes:
        cu_seqlens_q: int32 of shape (batch + 1,): where the queries of each sequence begin, and the last
            ones end.
        cu_seqlens_k: Likewise for the keys.
        max_seqlen_q: The largest number of queries in a sequence.
        max_seqlen_k: The largest number of keys in a sequence.
        seqused_k: int32 of shape (batch,): how many keys of each sequence are used; None for all.
        leftpad_k: int32 of shape (batch,): how many keys at the beginning of each sequence are unused.
        block_table: int32 of shape (batch, most pages of a sequence), if the keys are in pages: blocks of
            a fixed number of tokens.
        num_splits: Without effect on the result; more than 1 is refused with pages.
    """

    cu_seqlens_q: Tensor
    cu_seqlens_k: Tensor
    max_seqlen_q: int
    max_seqlen_k: int
    seqused_k: Tensor | None = None
    leftpad_k: Tensor | None = None
    block_table: Tensor | None = None
    num_splits: int = 0

    @property
    def batch_size(self) -> int:
        """The number of sequences."""
        return self.cu_seqlens_q.numel() - 1

    @property
    def longest(self) -> tuple[int, int]:
        """The largest numbers of queries and of keys in a sequence."""
        return self.max_seqlen_q, self.max_seqlen_k

    def require(self) -> None:
        """Reject arguments that flash_attn does not accept."""
        bounds = {"cu_seqlens_q": self.cu_seqlens_q, "cu_seqlens_k": self.cu_seqlens_k}
        require_device(**bounds)
        for name, tensor in bounds.items():
            require_indices(name, tensor, **{"batch_size + 1": self.batch_size + 1})
        require_indices("seqused_k", self.seqused_k, batch_size=self.batch_size)
        require_indices("leftpad_k", self.leftpad_k, batch_size=self.batch_size)

    def require_keys(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Reject keys and values of another shape, or pages that flash_attn does not accept."""
        if self.block_table is not None:
            require_table(self.block_table, k.shape[1], self.batch_size)
            require(self.leftpad_k is None, PAGES_AND_LEFTPAD)
            require(self.num_splits <= 1, "num_splits > 1 is not supported for varlen paged KV")
            return
        for name, tensor in {"k": k, "v": v}.items():
            sizes = {"total_k": len(k), "num_heads_k": k.shape[-2], "head_size": q.shape[-1]}
            require_shape(name, tensor, **sizes)

    def packed(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Packing]:
        """Return keys and values without pages, and the range of each sequence in them."""
        keys = ranges(self.cu_seqlens_k)
        if self.seqused_k is not None:
            counts = zip(keys, self.seqused_k.tolist(), strict=True)
            keys = [(start, start + used) for (start, _), used in counts]
        if self.leftpad_k is not None:
            pads = zip(keys, self.leftpad_k.tolist(), strict=True)
            keys = [(start + pad, end) for (start, end), pad in pads]
        if self.block_table is not None:
            k, v, keys = _gathered(k, v, self.block_table, [end - start for start, end in keys])
        return k, v, Packing(ranges(self.cu_seqlens_q), keys)


def ranges(cu_seqlens: Tensor) -> list[Range]:
    """Return where each sequence begins and ends."""
    return list(itertools.pairwise(cu_seqlens.tolist()))


def require_table(block_table: Tensor, page_size: int, batch_size: int) -> None:
    """Reject a table of pages that flash_attn does not accept."""
    require_device(block_table=block_table)
    require(block_table.dtype == int32, "block_table must have dtype torch.int32")
    require(block_table.stride(-1) == 1, "block_table must have contiguous last dimension")
    require(page_size % 256 == 0, "Paged KV cache block size must be divisible by 256")
    sizes = {"batch_size": batch_size, "max_num_blocks_per_seq": block_table.shape[1]}
    require_shape("block_table", block_table, **sizes)


def _gathered(
    key: Tensor, value: Tensor, block_table: Tensor, lengths: Sequence[int]
) -> tuple[Tensor, Tensor, list[Range]]:
    """Copy the pages of each sequence next to each other, up to its length."""
    size = key.shape[1]
    counts = [math.ceil(length / size) for length in lengths]
    pages = torch.cat([row[:count] for row, count in zip(block_table, counts, strict=True)])
    starts = itertools.accumulate(counts[:-1], initial=0)
    places = [(first * size, first * size + length) for first, length in zip(starts, lengths, strict=True)]
    return key[pages].flatten(0, 1), value[pages].flatten(0, 1), places
