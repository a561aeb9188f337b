"""Parts of numbers and of tensors."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from . import ranks


def ensure_divisibility(numerator: int, denominator: int) -> None:
    """Check that there is no remainder."""
    assert numerator % denominator == 0, f"{numerator} is not divisible by {denominator}"


def divide(numerator: int, denominator: int) -> int:
    """Return the quotient of numbers that must leave no remainder."""
    ensure_divisibility(numerator, denominator)
    return numerator // denominator


def split_tensor_into_1d_equal_chunks(tensor: Tensor) -> Tensor:
    """Return this process's share of a tensor's elements, among those of its tensor-parallel group."""
    flat = tensor.view(-1)
    size = flat.numel() // ranks.get_tensor_model_parallel_world_size()
    start = size * ranks.get_tensor_model_parallel_rank()
    return flat[start : start + size]


def gather_split_1d_tensor(tensor: Tensor) -> Tensor:
    """Return the elements that all processes of the tensor-parallel group have shares of."""
    size = ranks.get_tensor_model_parallel_world_size()
    gathered = torch.empty(size * tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    dist.all_gather_into_tensor(gathered, tensor, group=ranks.get_tensor_model_parallel_group())
    return gathered
