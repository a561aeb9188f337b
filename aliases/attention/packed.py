"""Sequences of different lengths in one tensor, and attention within each of them, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .attention import Attention

Range = tuple[int, int]


@dataclass(frozen=True)
class Packing:
    """The ranges of a batch's sequences: their queries in one tensor, their keys and values in two others.

    Attributes:
        queries: For each sequence, its first row and one past its last.
        keys: Likewise, in the tensors of keys and of values.
    """

    queries: Sequence[Range]
    keys: Sequence[Range]

    @property
    def lengths(self) -> tuple[list[int], list[int]]:
        """The numbers of queries and of keys of each sequence."""
        return tuple([end - start for start, end in each] for each in (self.queries, self.keys))  # type: ignore[return-value]

    def fills(self, query: Tensor, key: Tensor) -> bool:
        """Return whether the sequences follow each other, from the first row of both tensors to the last."""
        return _follow(self.queries, len(query)) and _follow(self.keys, len(key))

    def sequences(self) -> Iterator[tuple[int, slice, slice]]:
        """Return the number of each sequence, its queries' rows and its keys' rows."""
        for index, (queries, keys) in enumerate(zip(self.queries, self.keys, strict=True)):
            yield index, slice(*queries), slice(*keys)


def forward(
    attend: Callable[..., tuple[Tensor, Tensor]],
    attention: Attention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packing: Packing,
) -> tuple[Tensor, Tensor]:
    """Compute attention within each sequence with ``attend``, which takes dense batches."""
    out = query.new_zeros(*query.shape[:2], value.shape[2])
    lse = query.new_full((query.shape[1], query.shape[0]), math.inf, dtype=torch.float32)
    for index, queries, keys in packing.sequences():
        inputs = (each[None] for each in (query[queries], key[keys], value[keys]))
        part, sums = attend(attention.of_sequence(index), *inputs)
        out[queries], lse[:, queries] = part[0], sums[0]
    return out, lse


def backward(
    attend: Callable[..., tuple[Tensor, Tensor, Tensor]],
    attention: Attention,
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    lse: Tensor,
    packing: Packing,
    lse_grad: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients with ``attend``, which takes dense batches."""
    query_grad, key_grad, value_grad = (torch.zeros_like(each) for each in (query, key, value))
    for index, queries, keys in packing.sequences():
        inputs = (grad[queries], query[queries], key[keys], value[keys], out[queries], lse[:, queries])
        sums_grad = None if lse_grad is None else lse_grad[None, :, queries]
        parts = attend(attention.of_sequence(index), *(each[None] for each in inputs), sums_grad)
        query_grad[queries], key_grad[keys], value_grad[keys] = (part[0] for part in parts)
    return query_grad, key_grad, value_grad


def _follow(ranges: Sequence[Range], rows: int) -> bool:
    starts, ends = zip(*ranges, strict=True)
    return (*starts, rows) == (0, *ends)
