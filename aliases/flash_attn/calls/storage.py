"""A cache of keys and values: rows of a tensor for each sequence, or pages."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .. import kernels
from ..kernels import Attention
from .checks import require, require_device, require_indices, require_shape
from .pages import PAGES_AND_LEFTPAD, require_table


@dataclass
class Cache:
    """Keys and values of a batch of sequences.

    Attributes:
        keys: Of shape (cached sequences, cached tokens, key heads, head size), or with a ``table``, of shape
            (pages, tokens of a page, key heads, head size).
        values: Of the same shape.
        lengths: int32 of shape (batch,): how many tokens of each sequence there are; None for all.
        rows: int32 of shape (batch,): which of the cached sequences each is; None for the first ones.
        leftpad: int32 of shape (batch,): where each sequence begins; None for 0.
        table: int32 of shape (batch, most pages of a sequence): the pages of each sequence.
    """

    keys: Tensor
    values: Tensor
    lengths: Tensor | None
    rows: Tensor | None
    leftpad: Tensor | None
    table: Tensor | None

    @property
    def capacity(self) -> int:
        """How many tokens of a sequence there is room for."""
        size = self.keys.shape[1]
        return size if self.table is None else size * self.table.shape[1]

    def require(self, batch_size: int, head_size: int) -> None:
        """Refuse what flash_attn does not take."""
        sizes = {"batch_size_c": self.keys.shape[0], "seqlen_k": self.keys.shape[1]}
        if self.table is not None:
            require(self.rows is None, "Paged KVcache does not support cache_batch_idx")
            require_table(self.table, self.keys.shape[1], batch_size)
            sizes = {"num_blocks": self.keys.shape[0], "page_block_size": self.keys.shape[1]}
        for name, tensor in {"kcache": self.keys, "vcache": self.values}.items():
            require_shape(name, tensor, **sizes, num_heads_k=self.keys.shape[2], head_size_og=head_size)
        require(self.leftpad is None or self.table is None, PAGES_AND_LEFTPAD)
        indices = {"seqlens_k": self.lengths, "leftpad_k": self.leftpad, "cache_batch_idx": self.rows}
        require_device(kcache=self.keys, **indices)
        for name, each in indices.items():
            require_indices(name, each, batch_size=batch_size)

    def append(self, key: Tensor, value: Tensor) -> None:
        """Write new tokens, (batch, tokens, key heads, head size), in place after those of each sequence."""
        assert self.lengths is not None
        place = self.lengths[:, None] + torch.arange(key.shape[1], device=key.device)
        if self.table is None:
            row = torch.arange(len(place), device=key.device) if self.rows is None else self.rows
            index = row[:, None].long(), place.long()
        else:
            self._require_room(key.shape[1])
            size = self.keys.shape[1]
            index = self.table.gather(1, (place // size).long()).long(), (place % size).long()
        self.keys[index] = key
        self.values[index] = value

    def attend(self, attention: Attention, query: Tensor, added: int) -> tuple[Tensor, Tensor]:
        """Compute attention of each sequence's queries over its tokens, ``added`` more than ``lengths``."""
        if self.table is not None:
            self._require_room(added)
        lengths = [self.capacity] * len(query) if self.lengths is None else self.lengths.tolist()
        begins = [0] * len(query) if self.leftpad is None else self.leftpad.tolist()
        ranges = [(begin, length + added) for begin, length in zip(begins, lengths, strict=True)]
        if self.table is None and self.rows is None and len(set(ranges)) == 1:
            own = slice(len(query)), slice(*ranges[0])
            return kernels.forward(attention, query, self.keys[own], self.values[own])
        parts = [
            kernels.forward(
                attention.of_sequence(index), query[index : index + 1], *self.sequence(index, *each)
            )
            for index, each in enumerate(ranges)
        ]
        out, lse = zip(*parts, strict=True)
        return torch.cat(out), torch.cat(lse)

    def sequence(self, index: int, start: int, end: int) -> tuple[Tensor, Tensor]:
        """Return keys and values of a sequence between two tokens: (1, tokens, key heads, head size)."""
        if self.table is None:
            row = index if self.rows is None else int(self.rows[index])
            return self.keys[row : row + 1, start:end], self.values[row : row + 1, start:end]
        pages = self.table[index, : math.ceil(end / self.keys.shape[1])]
        keys, values = (each[pages].flatten(0, 1)[None, start:end] for each in (self.keys, self.values))
        return keys, values

    def _require_room(self, added: int) -> None:
        """Refuse lengths past the last page, which the table does not tell."""
        longest = added + (int(self.lengths.max()) if self.lengths is not None else self.capacity - added)
        require(
            longest <= self.capacity,
            f"Paged KV cache: max(seqlens_k){' + seqlen_knew' if added else ''} (= {longest}) exceeds the "
            "capacity addressable by block_table (max_num_blocks_per_seq * page_block_size = "
            f"{self.capacity}). Allocate more columns in block_table, otherwise the kernel would index "
            "block_table out of bounds.",
        )
