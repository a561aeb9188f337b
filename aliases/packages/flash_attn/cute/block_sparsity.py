"""The description of the blocks of scores to compute."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class BlockSparseTensorsTorch(NamedTuple):
    """Lists of blocks of keys for each block of queries.

    Attributes:
        mask_block_cnt: int32 of shape (batch, heads, blocks of queries): how many blocks are masked in part.
        mask_block_idx: int32 of shape (batch, heads, blocks of queries, blocks of keys): which ones.
        full_block_cnt: Likewise, how many are not masked.
        full_block_idx: Likewise, which ones.
        cu_total_m_blocks: Where the blocks of queries of each sequence begin.
        cu_block_idx_offsets: Where the blocks of keys of each sequence begin.
        block_size: How many queries and keys a block has.
        dq_write_order: An order in which gradients are added.
        dq_write_order_full: Likewise, for the blocks that are not masked.
        spt: How the order was made.
    """

    mask_block_cnt: Tensor
    mask_block_idx: Tensor
    full_block_cnt: Tensor | None = None
    full_block_idx: Tensor | None = None
    cu_total_m_blocks: Tensor | None = None
    cu_block_idx_offsets: Tensor | None = None
    block_size: tuple[int, int] | None = None
    dq_write_order: Tensor | None = None
    dq_write_order_full: Tensor | None = None
    spt: bool | None = None
