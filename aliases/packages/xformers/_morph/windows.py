"""Which keys a query sees within a block, and the blocks of a call."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Window(NamedTuple):
    """The keys that a query sees, counted from its own position.

    Attributes:
        left: How many keys before its own position; None for all.
        right: How many keys after its own position; None for all.
        from_start: Whether queries and keys begin at the same position; else they end at the same one.
    """

    left: int | None = None
    right: int | None = None
    from_start: bool = False

    def of_size(self, size: int) -> Window:
        """Return it with at most ``size`` keys before the last one that a query sees."""
        if size <= 0:
            raise ValueError(f"Expected `window_size > 0`, but window_size={size}")
        return self._replace(left=size - 1)

    def hidden(self, queries: int, keys: int, device: torch.device | str) -> Tensor:
        """Return, of shape (queries, keys), which keys the queries do not see."""
        offset = 0 if self.from_start else keys - queries
        position = torch.arange(queries, device=device)[:, None] + offset
        key = torch.arange(keys, device=device)
        hidden = torch.zeros(queries, keys, dtype=torch.bool, device=device)
        if self.left is not None:
            hidden |= key < position - self.left
        if self.right is not None:
            hidden |= key > position + self.right
        return hidden

    def seen_from_end(self, queries: int, keys: int) -> tuple[int, int, int]:
        """Return how many of the keys are seen at all, and ``left`` and ``right`` from a common end.

        A negative ``left`` or ``right`` means all keys.
        """
        left, right = self.left, self.right
        if not self.from_start:
            return keys, -1 if left is None else left, -1 if right is None else right
        seen = keys if right is None else min(keys, queries + right)
        shift = seen - queries
        if left is not None and left + shift < 0:
            raise ValueError(f"the last of {queries} queries sees none of {keys} keys: window of {left}")
        return seen, -1 if left is None else left + shift, -1 if right is None else right - shift


ALL = Window()
CAUSAL = Window(right=0)
CAUSAL_FROM_START = Window(right=0, from_start=True)


class Block(NamedTuple):
    """Queries that see some keys, and no other queries do.

    Attributes:
        queries: Their places.
        keys: The places of the keys: a range, or int64 indices.
        size: The number of keys.
        window: Which of these keys each query sees.
    """

    queries: slice
    keys: slice | Tensor
    size: int
    window: Window


def ranged(
    queries: Sequence[tuple[int, int]], keys: Iterable[tuple[int, int]], window: Window
) -> list[Block]:
    """Return a block for each pair of ranges; one without keys has none."""
    pairs = zip(queries, keys, strict=True)
    return [Block(slice(*own), slice(*seen), max(0, seen[1] - seen[0]), window) for own, seen in pairs]


def materialized(
    blocks: Iterable[Block], shape: Sequence[int], dtype: torch.dtype, device: torch.device | str
) -> Tensor:
    """Return a mask of ``shape`` (..., queries, keys): 0 where a query sees a key, else minus infinity."""
    mask = torch.full(tuple(shape[-2:]), -math.inf, dtype=dtype, device=device)
    for block in blocks:
        queries = block.queries.stop - block.queries.start
        part = torch.zeros(queries, block.size, dtype=dtype, device=device)
        part.masked_fill_(block.window.hidden(queries, block.size, device), -math.inf)
        keys = block.keys if isinstance(block.keys, slice) else block.keys.to(device)
        mask[block.queries, keys] = part
    return mask.expand(tuple(shape))
