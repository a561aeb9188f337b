"""Parts of tensors and of vocabularies."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..utils import divide as divide


def split_tensor_along_last_dim(
    tensor: Tensor, num_partitions: int, contiguous_split_chunks: bool = False
) -> Sequence[Tensor]:
    """Return equal parts of a tensor's last dimension.

    Args:
        tensor: The tensor.
        num_partitions: How many parts there are.
        contiguous_split_chunks: Whether each part is contiguous.
    """
    size = divide(tensor.size(-1), num_partitions)
    parts = torch.split(tensor, size, dim=-1)
    return tuple(part.contiguous() for part in parts) if contiguous_split_chunks else parts


class VocabUtility:
    """Ranges of a vocabulary that is spread over processes."""

    @staticmethod
    def vocab_range_from_per_partition_vocab_size(
        per_partition_vocab_size: int, rank: int, world_size: int
    ) -> tuple[int, int]:
        """Return where the part of a process begins and ends, of parts of the same size."""
        first = rank * per_partition_vocab_size
        return first, first + per_partition_vocab_size

    @staticmethod
    def vocab_range_from_global_vocab_size(
        global_vocab_size: int, rank: int, world_size: int
    ) -> tuple[int, int]:
        """Return where the part of a process begins and ends, of the whole vocabulary."""
        size = divide(global_vocab_size, world_size)
        return VocabUtility.vocab_range_from_per_partition_vocab_size(size, rank, world_size)
