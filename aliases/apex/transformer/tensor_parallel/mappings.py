"""What carries tensors, and gradients the other way, between a process and its tensor-parallel group."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ..ranks import (
    get_tensor_model_parallel_group,
    get_tensor_model_parallel_rank,
    get_tensor_model_parallel_world_size,
)
from .utils import split_tensor_along_last_dim

__all__ = [
    "copy_to_tensor_model_parallel_region",
    "gather_from_sequence_parallel_region",
    "gather_from_tensor_model_parallel_region",
    "reduce_from_tensor_model_parallel_region",
    "reduce_scatter_to_sequence_parallel_region",
    "scatter_to_sequence_parallel_region",
    "scatter_to_tensor_model_parallel_region",
]


def _reduce(input_: Tensor) -> Tensor:
    if get_tensor_model_parallel_world_size() == 1:
        return input_
    output = input_.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(output, group=get_tensor_model_parallel_group())
    return output


def _split_along_last_dim(input_: Tensor) -> Tensor:
    parts = split_tensor_along_last_dim(input_, get_tensor_model_parallel_world_size())
    return parts[get_tensor_model_parallel_rank()].contiguous()


def _split_along_first_dim(input_: Tensor) -> Tensor:
    size = get_tensor_model_parallel_world_size()
    assert input_.size(0) % size == 0
    return input_.chunk(size)[get_tensor_model_parallel_rank()].contiguous()


def _gather_along_last_dim(input_: Tensor) -> Tensor:
    parts = [torch.empty_like(input_) for _ in range(get_tensor_model_parallel_world_size())]
    if len(parts) == 1:
        return input_
    dist.all_gather(parts, input_.contiguous(), group=get_tensor_model_parallel_group())
    return torch.cat(parts, dim=-1)


def _gather_along_first_dim(input_: Tensor) -> Tensor:
    size = get_tensor_model_parallel_world_size()
    if size == 1:
        return input_
    output = input_.new_empty(input_.size(0) * size, *input_.shape[1:])
    dist.all_gather_into_tensor(output, input_.contiguous(), group=get_tensor_model_parallel_group())
    return output


def _reduce_scatter_along_first_dim(input_: Tensor) -> Tensor:
    size = get_tensor_model_parallel_world_size()
    if size == 1:
        return input_
    assert input_.size(0) % size == 0
    output = input_.new_empty(input_.size(0) // size, *input_.shape[1:])
    dist.reduce_scatter_tensor(output, input_.contiguous(), group=get_tensor_model_parallel_group())
    return output


class _CopyToModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_: Tensor) -> Tensor:
        return input_

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return _reduce(grad_output)


class _ReduceFromModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_: Tensor) -> Tensor:
        return _reduce(input_)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return grad_output


class _ScatterToModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_: Tensor) -> Tensor:
        return _split_along_last_dim(input_)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return _gather_along_last_dim(grad_output)


class _GatherFromModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_: Tensor) -> Tensor:
        return _gather_along_last_dim(input_)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return _split_along_last_dim(grad_output)


class _ScatterToSequenceParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_: Tensor) -> Tensor:
        return _split_along_first_dim(input_)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return _gather_along_first_dim(grad_output)


class _GatherFromSequenceParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_: Tensor, to_model_parallel: bool = True) -> Tensor:
        ctx.to_model_parallel = to_model_parallel
        return _gather_along_first_dim(input_)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        spread = _reduce_scatter_along_first_dim if ctx.to_model_parallel else _split_along_first_dim
        return spread(grad_output), None


class _ReduceScatterToSequenceParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_: Tensor) -> Tensor:
        return _reduce_scatter_along_first_dim(input_)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return _gather_along_first_dim(grad_output)


def _applied(function: Any, *args: Any) -> Tensor:
    output: Tensor = function.apply(*args)
    return output


def copy_to_tensor_model_parallel_region(input_: Tensor) -> Tensor:
    """Return the input; its gradient is added up over the group."""
    return _applied(_CopyToModelParallelRegion, input_)


def reduce_from_tensor_model_parallel_region(input_: Tensor) -> Tensor:
    """Return the sum of the group's inputs; the gradient goes to each."""
    return _applied(_ReduceFromModelParallelRegion, input_)


def scatter_to_tensor_model_parallel_region(input_: Tensor) -> Tensor:
    """Return this process's part of the last dimension; gradients are put together."""
    return _applied(_ScatterToModelParallelRegion, input_)


def gather_from_tensor_model_parallel_region(input_: Tensor) -> Tensor:
    """Put the group's parts of the last dimension together; the gradient is split."""
    return _applied(_GatherFromModelParallelRegion, input_)


def scatter_to_sequence_parallel_region(input_: Tensor) -> Tensor:
    """Return this process's part of the first dimension; gradients are put together."""
    return _applied(_ScatterToSequenceParallelRegion, input_)


def gather_from_sequence_parallel_region(input_: Tensor, to_model_parallel: bool = True) -> Tensor:
    """Put the group's parts of the first dimension together.

    Args:
        input_: This process's part.
        to_model_parallel: Whether the gradient is added up over the group before it is split.
    """
    return _applied(_GatherFromSequenceParallelRegion, input_, to_model_parallel)


def reduce_scatter_to_sequence_parallel_region(input_: Tensor) -> Tensor:
    """Return this process's part of the sum of the group's inputs; gradients are put together."""
    return _applied(_ReduceScatterToSequenceParallelRegion, input_)
