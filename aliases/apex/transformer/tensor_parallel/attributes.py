"""What parameters say of how they are spread, and their initialisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..ranks import get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size
from ..utils import divide
from .random import get_cuda_rng_tracker

DEFAULTS = {"tensor_model_parallel": False, "partition_dim": -1, "partition_stride": 1}
Initialiser = Callable[[Tensor], Any]


def param_is_not_tensor_parallel_duplicate(param: Tensor) -> bool:
    """Tell whether a parameter is to be counted here: it is spread, or this process is its group's first."""
    return getattr(param, "tensor_model_parallel", False) or get_tensor_model_parallel_rank() == 0


def set_tensor_model_parallel_attributes(tensor: Tensor, is_parallel: bool, dim: int, stride: int) -> None:
    """Say how a tensor is spread: whether, along which dimension, in pieces of which stride."""
    for name, value in zip(DEFAULTS, (is_parallel, dim, stride), strict=True):
        assert not hasattr(tensor, name)
        setattr(tensor, name, value)


def set_defaults_if_not_set_tensor_model_parallel_attributes(tensor: Tensor) -> None:
    """Say that a tensor is not spread, unless something was said."""
    for name, value in DEFAULTS.items():
        if not hasattr(tensor, name):
            setattr(tensor, name, value)


def copy_tensor_model_parallel_attributes(destination_tensor: Tensor, source_tensor: Tensor) -> None:
    """Say of one tensor what was said of another."""
    for name in DEFAULTS:
        if hasattr(source_tensor, name):
            setattr(destination_tensor, name, getattr(source_tensor, name))


def new_weight(
    rows: int,
    columns: int,
    dim: int,
    init_method: Initialiser,
    stride: int,
    dtype: torch.dtype,
    on_host: bool,
) -> tuple[nn.Parameter, Tensor | None]:
    """Make this process's part of a matrix.

    Args:
        rows: How many the whole matrix has.
        columns: How many the whole matrix has.
        dim: The dimension that is spread.
        init_method: Fills a matrix: the whole on the host, or the part on the device, with random numbers
            that differ within the group.
        stride: In how many pieces each process has its part.
        dtype: The part's dtype.
        on_host: Whether it is made on the host, and there the same for any number of processes.

    Returns:
        The part, and on the host the whole matrix.
    """
    world = get_tensor_model_parallel_world_size()
    shape = [rows, columns]
    shape[dim] = divide(shape[dim], world)
    weight = nn.Parameter(torch.empty(shape, dtype=dtype, device="cpu" if on_host else "cuda"))
    set_tensor_model_parallel_attributes(weight, True, dim, stride)
    if not on_host:
        with get_cuda_rng_tracker().fork():
            init_method(weight)
        return weight, None
    whole = torch.empty(rows, columns)
    init_method(whole)
    whole = whole.to(dtype)
    pieces = torch.split(whole, divide(shape[dim], stride), dim=dim)
    with torch.no_grad():
        weight.copy_(torch.cat(pieces[get_tensor_model_parallel_rank() :: world], dim=dim))
    return weight, whole
