"""Collectives; those with gradients are autograd functions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed


def all_gather_raw(input_: Tensor, process_group: Any, async_op: bool = False) -> tuple[Tensor, Any]:
    """Return the concatenated inputs of all processes, without a gradient, and the work to wait for."""
    world_size = distributed.get_world_size(process_group)
    output = input_.new_empty(world_size * input_.shape[0], *input_.shape[1:])
    gather = distributed.all_gather_into_tensor
    return output, gather(output, input_.contiguous(), group=process_group, async_op=async_op)


def reduce_scatter_raw(input_: Tensor, process_group: Any, async_op: bool = False) -> tuple[Tensor, Any]:
    """Return this process's rows of the sum of all inputs, without a gradient, and the work to wait for."""
    world_size = distributed.get_world_size(process_group)
    assert input_.shape[0] % world_size == 0
    output = input_.new_empty(input_.shape[0] // world_size, *input_.shape[1:])
    reduce = distributed.reduce_scatter_tensor
    return output, reduce(output, input_.contiguous(), group=process_group, async_op=async_op)


def all_reduce_raw(input_: Tensor, process_group: Any, async_op: bool = False) -> tuple[Tensor, Any]:
    """Return the sum of all inputs, in this one's memory if it is contiguous, and the work to wait for."""
    input_ = input_.contiguous()
    return input_, distributed.all_reduce(input_, group=process_group, async_op=async_op)


class AllGatherFunc(torch.autograd.Function):
    """The concatenated inputs of all processes."""

    @staticmethod
    def forward(ctx: Any, input_: Tensor, process_group: Any) -> Tensor:
        """Gather."""
        ctx.process_group = process_group
        return all_gather_raw(input_, process_group)[0]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """Sum up, and keep this process's rows."""
        return reduce_scatter_raw(grad_output, ctx.process_group)[0], None


class ReduceScatterFunc(torch.autograd.Function):
    """This process's rows of the sum of all inputs."""

    @staticmethod
    def forward(ctx: Any, input_: Tensor, process_group: Any) -> Tensor:
        """Sum up, and keep this process's rows."""
        ctx.process_group = process_group
        return reduce_scatter_raw(input_, process_group)[0]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """Gather."""
        return all_gather_raw(grad_output, ctx.process_group)[0], None


class AllReduceFunc(torch.autograd.Function):
    """The sum of all inputs, whose gradient is that of each of them."""

    @staticmethod
    def forward(ctx: Any, input_: Tensor, process_group: Any) -> Tensor:
        """Sum up."""
        return all_reduce_raw(input_.clone(), process_group)[0]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """Return the gradient unchanged."""
        return grad_output, None


all_gather, reduce_scatter, all_reduce = AllGatherFunc.apply, ReduceScatterFunc.apply, AllReduceFunc.apply


def get_dim_for_local_rank(dim: int, world_size: int, local_rank: int, multiple_of: int = 1) -> int:
    """Return a process's part of ``dim``, in multiples of ``multiple_of``; the first ones have one more."""
    share, rest = divmod(dim // multiple_of, world_size)
    return (share + int(local_rank < rest)) * multiple_of
