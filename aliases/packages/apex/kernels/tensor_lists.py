"""Lists of tensors: the checks that apex's extensions make, and the precision of the computation.

The operations ``multi_tensor_...`` take ``chunk_size``, a parameter of apex's kernels without effect here;
``noop_flag``, an int32 tensor of one element, ignored unless stated; lists of tensors; and the fields of the
optimizer's options, in order. Lists that do not match, or hold a dtype without a kernel, raise
``RuntimeError``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

Lists = Sequence[Sequence[Tensor]]
DENSE_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
LOW_PRECISION = (torch.float16, torch.bfloat16)
FLOAT_AND_HALF = (torch.float32, torch.float16)
FLOATS = (*FLOAT_AND_HALF, torch.bfloat16)


def require(condition: bool, message: str) -> None:
    """Raise ``RuntimeError(message)`` unless the condition holds."""
    if not condition:
        raise RuntimeError(message)


def check(lists: Lists, depth: int, supported: Sequence[torch.dtype], operation: str) -> None:
    """Check lists of tensors as apex's extension does: numbers, lengths, sizes, layouts, devices and dtypes.

    Args:
        lists: Lists of equal length, whose tensors at the same place have the same size.
        depth: The number of lists that the operation takes.
        supported: The dtypes of the first list.
        operation: The operation's name, for the error.
    """
    require(len(lists) == depth, "tensor_lists.size() != depth")
    require(len(lists[0]) > 0, "tensor_lists[0].size() is not > 0")
    first, sizes = lists[0][0], [tensor.numel() for tensor in lists[0]]
    require(first.is_cuda, "expected input to be on cuda")
    for tensors in lists:
        require(len(tensors) == len(sizes), "Size mismatch among tensor lists")
        check_dense(tensors)
        same = all(tensor.device == first.device for tensor in tensors)
        require(same, "A tensor was not on the same device as the first tensor")
        require([tensor.numel() for tensor in tensors] == sizes, "Size mismatch")
    require(first.dtype in supported, f"\"{operation}\" not implemented for '{_type_name(first)}'")


def check_dense(tensors: Sequence[Tensor]) -> None:
    """Check that each tensor is dense in memory, in an order that apex supports."""
    for tensor in tensors:
        if not tensor.is_contiguous():
            formats = DENSE_FORMATS[tensor.dim() - 3 : tensor.dim() - 2] if tensor.dim() in (4, 5) else ()
            dense = any(tensor.is_contiguous(memory_format=kind) for kind in formats)
            require(dense, "A tensor was not contiguous.")


def check_inputs(**tensors: Tensor) -> None:
    """Check that tensors, passed by their names for errors, are on the device and contiguous."""
    for name, tensor in tensors.items():
        require(tensor.is_cuda, f"{name} must be a CUDA tensor")
        require(tensor.is_contiguous(), f"{name} must be contiguous")


def check_same_dtype(first: Tensor, *others: Tensor) -> None:
    """Check that tensors have the dtype of the first."""
    for other in others:
        if other.dtype != first.dtype:
            raise RuntimeError(f"expected scalar type {_type_name(first)} but found {_type_name(other)}")


def _type_name(tensor: Tensor) -> str:
    return str(tensor.type()).rpartition(".")[2].removesuffix("Tensor")


def same_layout(lists: Lists) -> bool:
    """Return whether the tensors at the same place of each list have the same strides.

    torch's fused kernels iterate over memory and ignore strides.
    """
    strides = [list(map(Tensor.stride, tensors)) for tensors in lists]
    return all(other == strides[0] for other in strides[1:])


def full_precision(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors, in float32 where they are of lower precision."""
    return [tensor.float() if tensor.dtype in LOW_PRECISION else tensor for tensor in tensors]


@contextmanager
def at_full_precision(*lists: Sequence[Tensor]) -> Iterator[list[list[Tensor]]]:
    """Yield lists of one dtype each; for low precision, float32 copies that are written back at the end."""
    worked_on = [full_precision(tensors) for tensors in lists]
    yield worked_on
    for tensors, full in zip(lists, worked_on, strict=True):
        if tensors and tensors[0].dtype in LOW_PRECISION:
            torch._foreach_copy_(list(tensors), full)


@functools.cache
def has_kernel(operator: str, device_type: str) -> bool:
    """Return whether a device has a kernel of its own for one of torch's operators.

    Args:
        operator: The operator's name, with its namespace if that is not ``aten``: ``"_fused_adamw_"``.
        device_type: torch's name of the device.
    """
    namespace, _, name = operator.rpartition("::")
    if not hasattr(getattr(torch.ops, namespace or "aten"), name):
        return False
    key = torch._C._dispatch_key_for_device(device_type)
    return torch._C._dispatch_has_kernel_for_dispatch_key(f"{namespace or 'aten'}::{name}", key)
