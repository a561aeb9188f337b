"""Keys and values that lie in pages: blocks of a fixed number of tokens, listed per sequence in a table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, int32

from ..kernels.packed import Range
from .checks import require, require_device, require_shape

PAGES_AND_LEFTPAD = "We don't support Paged KV and leftpad_k running at the same time yet"


def require_table(block_table: Tensor, page_size: int, batch_size: int) -> None:
    """Refuse a table that flash_attn does not take."""
    require_device(block_table=block_table)
    require(block_table.dtype == int32, "block_table must have dtype torch.int32")
    require(block_table.stride(-1) == 1, "block_table must have contiguous last dimension")
    require(page_size % 256 == 0, "Paged KV cache block size must be divisible by 256")
    require_shape(
        "block_table", block_table, batch_size=batch_size, max_num_blocks_per_seq=block_table.shape[1]
    )


def gather(
    key: Tensor, value: Tensor, block_table: Tensor, lengths: Sequence[int]
) -> tuple[Tensor, Tensor, list[Range]]:
    """Copy the pages of each sequence next to each other.

    Args:
        key: Of shape (pages, tokens of a page, key heads, head size).
        value: Of shape (pages, tokens of a page, key heads, value size).
        block_table: int32 of shape (batch, most pages of a sequence): the pages of each sequence, in order.
        lengths: How many tokens of each sequence are wanted.

    Returns:
        Keys and values of shape (tokens, key heads, size), and where each sequence lies in them.
    """
    size = key.shape[1]
    counts = [math.ceil(length / size) for length in lengths]
    pages = torch.cat([row[:count] for row, count in zip(block_table, counts, strict=True)])
    starts = itertools.accumulate(counts[:-1], initial=0)
    ranges = [(first * size, first * size + length) for first, length in zip(starts, lengths, strict=True)]
    return key[pages].flatten(0, 1), value[pages].flatten(0, 1), ranges
