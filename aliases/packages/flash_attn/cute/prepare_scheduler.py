"""The parameters of a scheduler of CUDA kernels."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class SchedulerMetadataTensorsTorch(NamedTuple):
    """How work is distributed over a GPU; without effect here."""

    num_m_blocks_ptr: Tensor | None
    num_splits_dynamic_ptr: Tensor | None
    virtual_batch_idx_ptr: Tensor | None
    num_nheads_in_l2_ptr: Tensor | None
    tile_count_semaphore: Tensor | None
    cu_total_m_blocks: Tensor | None = None
    cu_total_splits_m_blocks: Tensor | None = None
    blocks_to_batch_idx: Tensor | None = None
