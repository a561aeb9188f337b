"""Data that one process of a group has for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from ..ranks import get_tensor_model_parallel_group as get_tensor_model_parallel_group
from ..ranks import get_tensor_model_parallel_rank as get_tensor_model_parallel_rank
from ..ranks import get_tensor_model_parallel_src_rank as get_tensor_model_parallel_src_rank

_MAX_DATA_DIM = 5


def broadcast_data(
    keys: Sequence[str], data: Mapping[str, Tensor], datatype: torch.dtype
) -> dict[str, Tensor]:
    """Give tensors of the first process of each tensor-parallel group to the others.

    Args:
        keys: The names of the tensors.
        data: The tensors by name; looked at in the first process only.
        datatype: The dtype of all of them.

    Returns:
        The tensors by name, on the device.
    """
    sizes = _sizes(keys, data)
    total = sum(size.numel() for size in sizes)
    if get_tensor_model_parallel_rank() == 0:
        for key in keys:
            found = data[key].dtype
            assert found == datatype, f"{key} has data type {found} which is different than {datatype}"
        flat = torch.cat([data[key].reshape(-1) for key in keys]).cuda()
    else:
        flat = torch.empty(total, dtype=datatype, device="cuda")
    dist.broadcast(flat, get_tensor_model_parallel_src_rank(), group=get_tensor_model_parallel_group())
    parts = torch.split(flat, [size.numel() for size in sizes])
    return {key: part.view(size) for key, part, size in zip(keys, parts, sizes, strict=True)}


def _sizes(keys: Sequence[str], data: Mapping[str, Tensor]) -> list[torch.Size]:
    """Return the sizes of the first process's tensors."""
    told = torch.zeros(len(keys), _MAX_DATA_DIM, dtype=torch.long)
    if get_tensor_model_parallel_rank() == 0:
        for row, key in zip(told, keys, strict=True):
            size = data[key].shape
            assert len(size) < _MAX_DATA_DIM, "you should increase MAX_DATA_DIM"
            row[: len(size)] = torch.tensor(size)
    told = told.cuda()
    dist.broadcast(told, get_tensor_model_parallel_src_rank(), group=get_tensor_model_parallel_group())
    return [torch.Size(each for each in row if each > 0) for row in told.tolist()]
