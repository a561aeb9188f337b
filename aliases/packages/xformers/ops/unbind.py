"""Tensors that are stacked already, stacked and unbound without copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def unbind(x: Tensor, dim: int) -> tuple[Tensor, ...]:
    """Return the parts of ``x`` along ``dim``, as torch.unbind; gradients that are stacked are not copied."""
    return _Unbind.apply(x, dim)  # type: ignore[no-any-return, no-untyped-call]


def stack_or_none(tensors: Sequence[Tensor], dim: int) -> Tensor | None:
    """Return the tensors stacked along ``dim`` if no copy is needed, or None."""
    return _StackOrNone.apply(dim, *tensors)  # type: ignore[no-any-return, no-untyped-call]


def get_stack_strides(tensors: Sequence[Tensor], dim: int) -> tuple[int, ...] | None:
    """Return the strides of the stack of tensors that lie in memory as if stacked along ``dim``, or None."""
    if len(tensors) <= 1 or dim > tensors[0].ndim:
        return None
    first = tensors[0]
    step = tensors[1].storage_offset() - first.storage_offset()
    for index, each in enumerate(tensors):
        same = each.shape == first.shape and each.stride() == first.stride()
        place = each.storage_offset() == first.storage_offset() + index * step
        if not (same and place and _memory(each) == _memory(first)):
            return None
    strides: list[int] = [int(each) for each in first.stride()]
    strides.insert(dim, int(step))
    return tuple(strides)


class _Unbind(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> tuple[Tensor, ...]:
        ctx.dim = dim
        return x.unbind(dim)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        stacked = _stacked(grads, ctx.dim)
        return torch.stack(grads, ctx.dim) if stacked is None else stacked, None


class _StackOrNone(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dim: int, *tensors: Tensor) -> Tensor | None:
        ctx.dim = dim
        return _stacked(tensors, dim)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return None, *grad.unbind(ctx.dim)


def _stacked(tensors: Sequence[Tensor], dim: int) -> Tensor | None:
    strides = get_stack_strides(tensors, dim)
    if strides is None:
        return None
    shape = list(tensors[0].shape)
    shape.insert(dim, len(tensors))
    return tensors[0].as_strided(shape, strides)


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
