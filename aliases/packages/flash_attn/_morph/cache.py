"""Attention over a cache of keys and values: rows of a tensor for each sequence, or pages."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from morph.aliases import attention as kernels
from morph.aliases.attention import Attention

from ..ops.triton.rotary import apply_rotary
from .bounds import PAGES_AND_LEFTPAD, require_table
from .checks import (
    require,
    require_device,
    require_heads,
    require_indices,
    require_inputs,
    require_output,
    require_shape,
)
from .options import Options

Pair = tuple[Tensor | None, Tensor | None]

ROTARY_WITHOUT_KEYS = (
    "If rotary cos/sin are provided, new key / value to be appended to KV cache must also be provided"
)


@dataclass
class Cache:
    """Keys and values of a batch of sequences.

    Attributes:
        keys: Of shape (cached sequences, cached tokens, key heads, head size), or with a ``table``, of shape
            (pages, tokens of a page, key heads, head size).
        values: Of the same shape.
        lengths: int32 of shape (batch,): the number of tokens of each sequence; None for all.
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
        """The largest number of tokens of a sequence."""
        size = self.keys.shape[1]
        return size if self.table is None else size * self.table.shape[1]

    def require(self, batch_size: int, head_size: int) -> None:
        """Reject arguments that flash_attn does not accept."""
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
        """Reject lengths past the last page, for which the table has no entry."""
        longest = added + (int(self.lengths.max()) if self.lengths is not None else self.capacity - added)
        require(
            longest <= self.capacity,
            f"Paged KV cache: max(seqlens_k){' + seqlen_knew' if added else ''} (= {longest}) exceeds the "
            "capacity addressable by block_table (max_num_blocks_per_seq * page_block_size = "
            f"{self.capacity}). Allocate more columns in block_table, otherwise the kernel would index "
            "block_table out of bounds.",
        )


def attend(
    q: Tensor,
    cache: Cache,
    new: Pair,
    rotary: tuple[Tensor | None, Tensor | None, bool],
    options: Options,
    out: Tensor | None = None,
) -> list[Tensor]:
    """Compute attention over a cache, to which new tokens are added in place first.

    Args:
        q: Of shape (batch, queries, heads, head size).
        cache: The cached keys and values.
        new: Keys and values to add, of shape (batch, new tokens, key heads, head size), or None.
        rotary: Cosines and sines of shape (positions, rotary size / 2), by which queries and new keys are
            rotated, or None; and whether neighbours are rotated with each other, or halves.
        options: The options.
        out: The tensor for the output; None for a new one.

    Returns:
        The output, and the logarithm of the softmax's sums, float32 of shape (batch, heads, queries).

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    require_inputs(q, cache.keys, cache.values)
    require_heads(q.shape[0], q, cache.keys)
    options.require(q.shape[0], q.shape[2])
    require_output(out, q)
    cache.require(q.shape[0], q.shape[3])
    attention = options.attention((q.shape[1], cache.capacity))
    windows = options.window_size_left, options.window_size_right
    masked = options.causal or any(0 <= each < cache.capacity for each in windows)
    (k, v), (cos, sin, interleaved), added = new, rotary, 0
    with kernels.full_precision(q):
        if k is not None:
            added, v = k.shape[1], _require_new(q, k, v, cache)
            if cos is not None:
                cos, sin = _require_rotary(q, cos, sin, cache.capacity)
                q, k = _rotated(q, k, cos, sin, cache, interleaved, masked)
            cache.append(k, v)
        else:
            require(cos is None, ROTARY_WITHOUT_KEYS)
        result, lse = cache.attend(attention, q, added)
    return [result if out is None else out.copy_(result), lse]


def _require_new(q: Tensor, k: Tensor, v: Tensor | None, cache: Cache) -> Tensor:
    require(v is not None, "If key is supplied, value must also be passed in")
    assert v is not None
    require(cache.lengths is not None, "If key is supplied, seqlens_k must also be passed in")
    message = "If key is supplied, it must have seqlen <= the seqlen of the KV cache"
    require(q.shape[1] <= cache.capacity, message)
    require(k.dtype == q.dtype, "Key must have the same dtype as query")
    require(v.dtype == q.dtype, "Value must have the same dtype as query")
    require_device(k=k, v=v)
    require(k.stride(-1) == 1, "Key tensor must have contiguous last dimension")
    require(v.stride(-1) == 1, "Value tensor must have contiguous last dimension")
    sizes = {"batch_size": q.shape[0], "seqlen_knew": k.shape[1], "num_heads_k": cache.keys.shape[2]}
    for name, tensor in {"k": k, "v": v}.items():
        require_shape(name, tensor, **sizes, head_size_og=q.shape[3])
    return v


def _require_rotary(q: Tensor, cos: Tensor, sin: Tensor | None, capacity: int) -> tuple[Tensor, Tensor]:
    rotary_dim = cos.shape[1] * 2
    require(rotary_dim <= q.shape[3], "rotary_dim must be <= headdim")
    require(rotary_dim % 16 == 0, "Only rotary dimensions divisible by 16 are currently supported")
    require(cos.shape[0] >= capacity, "cos/sin seqlen must be at least the seqlen of KV cache")
    require(sin is not None, "If rotary cos is provided, rotary sin must also be provided")
    assert sin is not None
    for name, each in {"rotary_cos": cos, "rotary_sin": sin}.items():
        require_device(**{name: each})
        require_shape(name, each, **{"seqlen_ro": cos.shape[0], "params.rotary_dim / 2": rotary_dim // 2})
        require(each.is_contiguous(), f"{name} must be contiguous")
        require(each.dtype == q.dtype, "rotary_cos must have the same dtype as query")
    return cos, sin


def _rotated(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, cache: Cache, interleaved: bool, masked: bool
) -> tuple[Tensor, Tensor]:
    """Return queries and new keys at their positions, without a mask all queries at the first new one."""
    assert cache.lengths is not None
    k = apply_rotary(k, cos, sin, cache.lengths, interleaved=interleaved)
    if masked:
        return apply_rotary(q, cos, sin, cache.lengths, interleaved=interleaved), k
    together = q.flatten(1, 2)[:, None]
    return apply_rotary(together, cos, sin, cache.lengths, interleaved=interleaved).view(q.shape), k
