"""Which keys a query sees, and the parts of the scores that follow from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from morph.aliases.attention import Attention, Part
from morph.aliases.attention.options import Tile


class Window(NamedTuple):
    """The keys that a query sees, counted from its own position.

    Attributes:
        left: How many keys before its own position; negative for all.
        right: How many keys after its own position; negative for all.
        from_start: Whether queries and keys begin at the same position; else they end at the same one.
    """

    left: int = -1
    right: int = -1
    from_start: bool = False

    def of_size(self, size: int) -> Window:
        """Return it with at most ``size`` keys before the last one that a query sees."""
        if size <= 0:
            raise ValueError(f"Expected `window_size > 0`, but window_size={size}")
        return self._replace(left=size - 1)

    def part(self, queries: slice, keys: slice | Tensor) -> Part:
        """Return the part of queries and keys, a range or indices, without keys that no query sees."""
        count, size = _lengths(queries, keys)
        seen = min(size, count + self.right) if self.from_start and self.right >= 0 else size
        shift = seen - count if self.from_start else 0
        if 0 <= self.left < -shift:
            raise ValueError(f"the last of {count} queries sees none of {size} keys: window of {self.left}")
        left, right = (-1 if own < 0 else own + by for own, by in ((self.left, shift), (self.right, -shift)))
        keys = slice(keys.start, keys.start + seen) if isinstance(keys, slice) else keys[:seen]
        return Part((slice(None), queries), (slice(None), keys), Attention(1.0, left, right))


ALL = Window()
CAUSAL = Window(right=0)
CAUSAL_FROM_START = Window(right=0, from_start=True)


def sizes(part: Part) -> tuple[int, int]:
    """Return how many queries and keys a part has."""
    return _lengths(part.queries[1], part.keys[1])


def hidden(part: Part, device: torch.device) -> Tensor | None:
    """Return, of shape (queries, keys), which of its keys the queries of a part do not see; None if all."""
    count, size = sizes(part)
    return part.attention.hidden(Tile(0, count, 0, size, size - count), device) if count else None


def materialized(
    parts: Iterable[Part], shape: Sequence[int], dtype: torch.dtype, device: torch.device | str
) -> Tensor:
    """Return a mask of ``shape`` (..., queries, keys): 0 where a query sees a key, else minus infinity."""
    mask = torch.full(tuple(shape[-2:]), -math.inf, dtype=dtype, device=device)
    for part in parts:
        unseen, keys = hidden(part, mask.device), part.keys[1]
        own = torch.zeros(sizes(part), dtype=dtype, device=device)
        own = own if unseen is None else own.masked_fill_(unseen, -math.inf)
        mask[part.queries[1], keys if isinstance(keys, slice) else keys.to(device)] = own
    return mask.expand(tuple(shape))


def _lengths(queries: slice, keys: slice | Tensor) -> tuple[int, int]:
    return queries.stop - queries.start, keys.stop - keys.start if isinstance(keys, slice) else len(keys)
