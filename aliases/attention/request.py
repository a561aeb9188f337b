"""One call of attention, with every option that any package has."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from . import cache, computation
from .options import Attention
from .places import Part


@dataclass(frozen=True)
class Request:
    """Queries, keys, values and options of one call.

    Attributes:
        query: Of shape (batch, queries, heads, head size), or (all queries, heads, head size) with
            ``query_ends``.
        key: Of shape (batch, keys, key heads, head size), (all keys, ...) with ``key_ends``, or with a
            ``table`` (pages, tokens of a page, ...); the key heads divide the heads.
        value: Of the shape of ``key`` except for the last dimension.
        scale: The factor of the query-key products; None for 1 / sqrt(head size).
        causal: Whether a query sees no key after its own position; queries and keys end at the same one.
        left: How many keys before its own position a query sees; negative for all.
        right: How many keys after its own position a query sees; negative for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        alibi_slopes: float32, of shape (heads,) or (batch, heads); the score of a key falls by this much with
            every position between it and the query.
        dropout: The probability that a weight is dropped.
        seed: Determines which weights are dropped.
        chunk: Queries only see keys in their own chunk of this many positions, unless it is 0.
        matrix: Added to the scores: of shape (batch or 1, heads or 1, queries, keys).
        sink: Of shape (heads,): the score of one more key of each head, whose value is 0.
        query_value: Queries whose products with the values are added to the scores, of the shape of
            ``query`` except for the last dimension.
        query_scale: float32 of shape (batch, key heads): the factor of 8-bit queries.
        key_scale: Likewise for the keys.
        value_scale: Likewise for the values.
        query_ends: int32 of shape (batch + 1,): where the queries of each sequence begin, and the last ones
            end.
        key_ends: Likewise for the keys.
        max_queries: The largest number of queries in a sequence, if it is known.
        max_keys: Likewise for the keys.
        queries_used: int32 of shape (batch,): how many queries of each sequence are used; None for all.
        keys_used: Likewise for the keys.
        leftpad: int32 of shape (batch,): where the keys of each sequence begin; None for 0.
        rows: int32 of shape (batch,): which row of ``key`` or ``table`` each sequence has; None for its own.
        table: int32 of shape (batch, most pages of a sequence): the pages of each sequence, in order.
        new_key: Keys that are written behind those counted by ``keys_used`` first, of shape (batch, new
            keys, key heads, head size).
        new_value: Likewise for the values.
        cos: Cosines of shape (positions, rotary size / 2), by which queries and new keys are rotated.
        sin: Sines of the same shape.
        first_positions: int32 of shape (batch,): the position of the first new key; None for ``keys_used``.
        interleaved: Whether neighbours are rotated with each other, or one half with the other.
        given: The parts of the scores, if they do not follow from the other options.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    scale: float | None = None
    causal: bool = False
    left: int = -1
    right: int = -1
    softcap: float = 0.0
    alibi_slopes: Tensor | None = None
    dropout: float = 0.0
    seed: int = 0
    chunk: int = 0
    matrix: Tensor | None = None
    sink: Tensor | None = None
    query_value: Tensor | None = None
    query_scale: Tensor | None = None
    key_scale: Tensor | None = None
    value_scale: Tensor | None = None
    query_ends: Tensor | None = None
    key_ends: Tensor | None = None
    max_queries: int | None = None
    max_keys: int | None = None
    queries_used: Tensor | None = None
    keys_used: Tensor | None = None
    leftpad: Tensor | None = None
    rows: Tensor | None = None
    table: Tensor | None = None
    new_key: Tensor | None = None
    new_value: Tensor | None = None
    cos: Tensor | None = None
    sin: Tensor | None = None
    first_positions: Tensor | None = None
    interleaved: bool = True
    given: Sequence[Part] | None = None

    @property
    def batch_size(self) -> int:
        """The number of sequences."""
        return self.query.shape[0] if self.query_ends is None else len(self.query_ends) - 1

    @property
    def capacity(self) -> int:
        """The largest number of keys that a sequence has room for."""
        if self.key_ends is not None:
            return self.key.shape[0]
        return self.key.shape[1] * (1 if self.table is None else self.table.shape[1])

    @property
    def pages(self) -> Tensor | None:
        """The pages of each sequence: its row of ``table``."""
        return self.table if self.table is None or self.rows is None else self.table[self.rows.long()]

    @property
    def longest(self) -> tuple[int, int]:
        """The largest numbers of queries and of keys in a sequence, or more."""
        queries = self.query.shape[0 if self.query_ends is not None else 1]
        return (
            queries if self.max_queries is None else self.max_queries,
            self.capacity if self.max_keys is None else self.max_keys,
        )

    @property
    def attention(self) -> Attention:
        """The options for the kernels."""
        queries, keys = self.longest
        left = -1 if self.left >= keys else self.left
        right = 0 if self.causal else -1 if self.right >= queries else self.right
        options = self.softcap, self.alibi_slopes, self.dropout, self.seed, self.chunk, self.matrix
        return Attention(self.default_scale if self.scale is None else self.scale, left, right, *options)

    @property
    def default_scale(self) -> float:
        """The factor of the scores, unless another one is given."""
        size: int = self.query.shape[-1] + (0 if self.query_value is None else self.query_value.shape[-1])
        return size**-0.5  # type: ignore[no-any-return]

    appended, forward, backward = cache.appended, computation.forward, computation.backward
    sink_gradient, weigh = computation.sink_gradient, computation.weigh


FIELDS = frozenset(field.name for field in dataclasses.fields(Request))
