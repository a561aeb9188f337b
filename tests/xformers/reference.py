"""Biases of every kind, with the masks that they stand for."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tests.later import Later

of = Later("xformers.ops.fmha.attn_bias")


def visible(queries: int, keys: int, left: float, right: float, from_start: bool = False) -> Tensor:
    """Return a mask of 0 and minus infinity, of shape (queries, keys), from the definition of a window."""
    shift = 0 if from_start else keys - queries
    mask = torch.full((queries, keys), -math.inf, dtype=torch.float64)
    for row in range(queries):
        for column in range(keys):
            if row + shift - left <= column <= row + shift + right:
                mask[row, column] = 0
    return mask


def packed(lengths: list[int], places: list[tuple[int, int]], keys: int, window: Any) -> Tensor:
    """Return the mask of sequences whose keys are at ``places``; ``window(queries, keys)`` is that of one."""
    mask = torch.full((sum(lengths), keys), -math.inf, dtype=torch.float64)
    first = 0
    for length, (start, end) in zip(lengths, places, strict=True):
        mask[first : first + length, start:end] = window(length, end - start)
        first += length
    return mask


def plain_biases(queries: int, keys: int) -> Iterator[tuple[Any, Tensor | None]]:
    """Yield biases of a batch of sequences of one length, and what they should be."""
    inf = math.inf
    yield None, None
    yield of.LowerTriangularMask(), visible(queries, keys, inf, 0, from_start=True)


def packed_biases() -> Iterator[tuple[Any, int, int, Tensor]]:
    """Yield biases of sequences of different lengths, their numbers of queries and keys, and their masks."""
    inf, queries, keys = math.inf, [3, 1, 6], [5, 4, 7]
    places, padded = [(0, 5), (5, 9), (9, 16)], [(0, 5), (8, 12), (16, 23)]

    def near(left: float, right: float, from_start: bool = False) -> Any:
        return lambda *shape: visible(*shape, left, right, from_start)

    block = of.BlockDiagonalMask.from_seqlens(queries, keys)
    for bias, window in (
        (block, near(inf, inf)),
        (block.make_causal(), near(inf, 0, True)),
        (block.make_causal_from_bottomright(), near(inf, 0)),
        (block.make_local_attention(3), near(2, 0, True)),
        (block.make_local_attention_from_bottomright(3), near(2, 0)),
    ):
        yield bias, 10, 16, packed(queries, places, 16, window)
    pad = of.BlockDiagonalPaddedKeysMask.from_seqlens(queries, 8, keys)
    offset = of.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens(queries, 8, keys)
    for bias, window in ((pad, near(inf, inf)), (offset, near(inf, 0))):
        yield bias, 10, 24, packed(queries, padded, 24, window)
