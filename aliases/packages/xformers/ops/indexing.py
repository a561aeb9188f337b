"""Rows selected from several tensors, and added to them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def scaled_index_add(
    input: Tensor, index: Tensor, source: Tensor, scaling: Tensor | None = None, alpha: float = 1.0
) -> Tensor:
    """Add ``alpha * scaling * source`` in place to the rows ``index`` of ``input``, and return it.

    Args:
        input: Of shape (rows, length, size).
        index: Different rows, integers of shape (sources,).
        source: Of shape (sources, length, size).
        scaling: Of shape (size,).
        alpha: The factor of all.
    """
    scaled = source if scaling is None else source * scaling
    return input.index_add_(0, index, scaled.to(input.dtype), alpha=alpha)


def index_select_cat(sources: Sequence[Tensor], indices: Sequence[Tensor]) -> Tensor:
    """Return the rows ``indices[i]`` of each ``sources[i]``, flat, one after the other."""
    return torch.cat([source[index.long()].flatten() for source, index in zip(sources, indices, strict=True)])
