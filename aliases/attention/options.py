"""The options of one call of attention, independent of the kernel."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

Gradients = tuple[Tensor, Tensor, Tensor]


@dataclasses.dataclass(frozen=True, slots=True)
class Tile:
    """A part of the scores: the queries from ``first`` up to ``last``, the keys from ``start`` up to ``end``.

    ``offset`` is the position of the first query of all: queries and keys end at the same position.
    """

    first: int
    last: int
    start: int
    end: int
    offset: int

    @property
    def positions(self) -> tuple[int, int]:
        """The positions of its first query and of its last."""
        return self.first + self.offset, self.last - 1 + self.offset

    def columns(self, size: int) -> Iterator[Tile]:
        """Split it into tiles of ``size`` keys."""
        for start in range(self.start, self.end, size):
            yield dataclasses.replace(self, start=start, end=min(start + size, self.end))


class Saved(NamedTuple):
    """The gradient of an output, and what the gradients of its inputs follow from."""

    grad: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    out: Tensor
    lse: Tensor


@dataclasses.dataclass(frozen=True)
class Attention:
    """The options of one call that kernels know; see :class:`.request.Request` for each."""

    scale: float
    left: int = -1
    right: int = -1
    softcap: float = 0.0
    alibi_slopes: Tensor | None = None
    dropout: float = 0.0
    seed: int = 0
    chunk: int = 0
    matrix: Tensor | None = None

    @property
    def biased(self) -> bool:
        """Whether something is added to the scores."""
        return self.alibi_slopes is not None or self.matrix is not None

    @property
    def masked(self) -> bool:
        """Whether a query may not see all keys."""
        return self.left >= 0 or self.right >= 0 or self.chunk > 0

    def tile(self, queries: int, keys: int) -> Tile:
        """Return the smallest tile with every pair of a query and a visible key."""
        return self._narrowed(Tile(self._blind(queries, keys), queries, 0, keys, keys - queries))

    def rows(self, queries: int, keys: int, size: int) -> Iterator[Tile]:
        """Split that tile into tiles of ``size`` queries, each with the keys that its queries see."""
        whole = self.tile(queries, keys)
        for first in range(whole.first, whole.last, size):
            last = min(first + size, whole.last)
            yield self._narrowed(dataclasses.replace(whole, first=first, last=last, start=0, end=keys))

    def cuts(self, tile: Tile) -> bool:
        """Return whether a query of ``tile`` does not see one of its keys."""
        first, last = tile.positions
        too_early = self.left >= 0 and tile.start < last - self.left
        too_late = self.right >= 0 and tile.end - 1 > first + self.right
        ends = first, last, tile.start, tile.end - 1
        return too_early or too_late or (self.chunk > 0 and len({end // self.chunk for end in ends}) > 1)

    def is_causal_square(self, tile: Tile) -> bool:
        """Return whether ``tile`` has as many keys as queries, seen up to each query's own position."""
        square = tile.positions == (tile.start, tile.end - 1)
        return (
            square and self.right == 0 and not self.chunk and not 0 <= self.left < tile.end - tile.start - 1
        )

    def hidden(self, tile: Tile, device: torch.device) -> Tensor | None:
        """Return which keys the queries of ``tile`` do not see.

        Args:
            tile: The queries and keys.
            device: The device of the mask.

        Returns:
            Of shape (queries, keys), True where hidden; None if they see all of them.
        """
        if not self.cuts(tile):
            return None
        position, key = _positions(tile, device)
        hidden = torch.zeros(position.shape[0], key.shape[0], dtype=torch.bool, device=device)
        if self.left >= 0:
            hidden |= key < position - self.left
        if self.right >= 0:
            hidden |= key > position + self.right
        if self.chunk:
            hidden |= key // self.chunk != position // self.chunk
        return hidden

    def mask(self, tile: Tile, like: Tensor) -> Tensor | None:
        """Return the additive mask for the scores of ``tile``: 0, and minus infinity where a key is hidden.

        Args:
            tile: The queries and keys.
            like: A tensor with the dtype and device of the mask.

        Returns:
            Of shape (queries, keys); None if the queries see all of the keys.
        """
        if self.chunk or not self.cuts(tile):
            hidden = self.hidden(tile, like.device)
            return None if hidden is None else like.new_zeros(hidden.shape).masked_fill_(hidden, -math.inf)
        shape, diagonal = (tile.last - tile.first, tile.end - tile.start), tile.positions[0] - tile.start
        sides = []
        if self.right >= 0:
            sides.append(like.new_full(shape, -math.inf).triu_(diagonal + self.right + 1))
        if self.left >= 0:
            sides.append(like.new_full(shape, -math.inf).tril_(diagonal - self.left - 1))
        return sides[0] if len(sides) == 1 else sides[0].add_(sides[1])

    def bias(self, tile: Tile) -> Tensor | None:
        """Return the bias of the scores: new, float32, (batch or 1, heads or 1, queries, keys), or None."""
        matrix = None
        if self.matrix is not None:
            part = self.matrix[:, :, tile.first : tile.last, tile.start : tile.end]
            matrix = part.to(torch.float32, copy=True)
        if self.alibi_slopes is None:
            return matrix
        position, key = _positions(tile, self.alibi_slopes.device)
        slopes = self.alibi_slopes if self.alibi_slopes.dim() == 2 else self.alibi_slopes[None]
        falls = -slopes[:, :, None, None] * (position - key).abs()
        return falls if matrix is None else falls + matrix

    def of_sequence(self, index: int) -> Attention:
        """Return the options for only the sequence ``index`` of a batch."""
        slopes = self.alibi_slopes
        if slopes is not None and slopes.dim() == 2:
            slopes = slopes[index : index + 1]
        matrix = self.matrix
        if matrix is not None and len(matrix) > 1:
            matrix = matrix[index : index + 1]
        return dataclasses.replace(self, alibi_slopes=slopes, seed=self.seed + index, matrix=matrix)

    def _blind(self, queries: int, keys: int) -> int:
        """Return how many queries see no key; they are the first ones."""
        if keys == 0:
            return queries
        least = 0 if self.chunk else -self.right if self.right >= 0 else None
        return 0 if least is None else min(queries, max(0, queries - keys + least))

    def _narrowed(self, tile: Tile) -> Tile:
        """Return ``tile`` without the keys at its sides that none of its queries sees."""
        (first, last), start, end = tile.positions, tile.start, tile.end
        if self.left >= 0:
            start = max(start, first - self.left)
        if self.right >= 0:
            end = min(end, last + self.right + 1)
        if self.chunk:
            start = max(start, first // self.chunk * self.chunk)
            end = min(end, (last // self.chunk + 1) * self.chunk)
        if (start, end) == (tile.start, tile.end):
            return tile
        return dataclasses.replace(tile, start=start, end=max(start, end))


def _positions(tile: Tile, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the positions of the queries of ``tile`` as a column, and of its keys."""
    first, last = tile.positions
    return torch.arange(first, last + 1, device=device)[:, None], torch.arange(
        tile.start, tile.end, device=device
    )
