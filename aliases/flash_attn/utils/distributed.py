"""Collectives, of which those with gradients are autograd functions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed, nn


def all_gather_raw(input_: Tensor, process_group: Any, async_op: bool = False) -> tuple[Tensor, Any]:
    """Return the inputs of all processes after each other, without a gradient, and what to wait for."""
    world_size = distributed.get_world_size(process_group)
    output = input_.new_empty(world_size * input_.shape[0], *input_.shape[1:])
    contiguous = input_.contiguous()
    work = distributed.all_gather_into_tensor(output, contiguous, group=process_group, async_op=async_op)
    return output, work


def reduce_scatter_raw(input_: Tensor, process_group: Any, async_op: bool = False) -> tuple[Tensor, Any]:
    """Return this process's rows of the sum of all inputs, without a gradient, and what to wait for."""
    world_size = distributed.get_world_size(process_group)
    assert input_.shape[0] % world_size == 0
    output = input_.new_empty(input_.shape[0] // world_size, *input_.shape[1:])
    contiguous = input_.contiguous()
    work = distributed.reduce_scatter_tensor(output, contiguous, group=process_group, async_op=async_op)
    return output, work


def all_reduce_raw(input_: Tensor, process_group: Any, async_op: bool = False) -> tuple[Tensor, Any]:
    """Return the sum of all inputs, in this one's memory if it is contiguous, and what to wait for."""
    input_ = input_.contiguous()
    return input_, distributed.all_reduce(input_, group=process_group, async_op=async_op)


class AllGatherFunc(torch.autograd.Function):
    """The inputs of all processes after each other."""

    @staticmethod
    def forward(ctx: Any, input_: Tensor, process_group: Any) -> Tensor:
        """Gather."""
        ctx.process_group = process_group
        return all_gather_raw(input_, process_group)[0]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """Sum up, and keep this process's rows."""
        return reduce_scatter_raw(grad_output, ctx.process_group)[0], None


all_gather = AllGatherFunc.apply


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


reduce_scatter = ReduceScatterFunc.apply


class AllReduceFunc(torch.autograd.Function):
    """The sum of all inputs, whose gradient is that of each of them."""

    @staticmethod
    def forward(ctx: Any, input_: Tensor, process_group: Any) -> Tensor:
        """Sum up."""
        return all_reduce_raw(input_.clone(), process_group)[0]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """Hand the gradient on."""
        return grad_output, None


all_reduce = AllReduceFunc.apply


def sync_shared_params(model: nn.Module, process_group: Any) -> None:
    """Give all processes the first one's parameters among those that are marked ``_shared_params``."""
    source = distributed.get_global_rank(process_group, 0)
    with torch.no_grad():
        for parameter in _marked(model, "_shared_params"):
            distributed.broadcast(parameter, src=source, group=process_group)


def allreduce_sequence_parallel_grad(model: nn.Module, process_group: Any) -> None:
    """Sum the gradients up over processes of the parameters that are marked ``_sequence_parallel``."""
    with torch.no_grad():
        for parameter in _marked(model, "_sequence_parallel"):
            distributed.all_reduce(parameter.grad, group=process_group)


def get_dim_for_local_rank(dim: int, world_size: int, local_rank: int, multiple_of: int = 1) -> int:
    """Return a process's part of ``dim``, in multiples of ``multiple_of``, the first ones having one more."""
    share, rest = divmod(dim // multiple_of, world_size)
    return (share + int(local_rank < rest)) * multiple_of


def _marked(model: nn.Module, mark: str) -> list[nn.Parameter]:
    """Return the marked parameters in the order of their names, the same on all processes."""
    marked = {name: each for name, each in model.named_parameters() if getattr(each, mark, False)}
    return [each for _, each in sorted(marked.items())]
