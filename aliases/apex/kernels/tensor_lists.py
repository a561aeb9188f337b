"""Lists of tensors: the checks that apex's extension makes, and the precision they are worked on in."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

DENSE_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
LOW_PRECISION = (torch.float16, torch.bfloat16)


def check(lists: Sequence[Sequence[Tensor]], depth: int) -> None:
    """Check lists of tensors as apex's extension does.

    Args:
        lists: Lists of equal length, whose tensors at the same place have the same size.
        depth: How many lists the operation takes.

    Raises:
        RuntimeError: If a number of lists, a length, a size, a layout or a device is not as it must be.
    """
    _require(len(lists) == depth, "tensor_lists.size() != depth")
    _require(len(lists[0]) > 0, "tensor_lists[0].size() is not > 0")
    first = lists[0][0]
    _require(first.is_cuda, "expected input to be on cuda")
    for tensors in lists:
        _require(len(tensors) == len(lists[0]), "Size mismatch among tensor lists")
        check_dense(tensors)
        _require(
            all(tensor.device == first.device for tensor in tensors),
            "A tensor was not on the same device as the first tensor",
        )
        sizes_agree = all(
            tensor.numel() == other.numel() for tensor, other in zip(tensors, lists[0], strict=True)
        )
        _require(sizes_agree, "Size mismatch")


def check_dense(tensors: Sequence[Tensor]) -> None:
    """Check that each tensor's elements lie in memory without gaps, in an order that apex knows.

    Raises:
        RuntimeError: If one does not.
    """
    for tensor in tensors:
        if not tensor.is_contiguous():
            _require(
                any(tensor.is_contiguous(memory_format=kind) for kind in _formats(tensor)),
                "A tensor was not contiguous.",
            )


def check_dtype(tensor: Tensor, supported: Sequence[torch.dtype], operation: str) -> None:
    """Check a tensor's dtype.

    Raises:
        RuntimeError: If ``operation`` has no kernel for it.
    """
    name = TYPE_NAMES.get(tensor.dtype, str(tensor.dtype))
    _require(tensor.dtype in supported, f"\"{operation}\" not implemented for '{name}'")


TYPE_NAMES = {
    torch.float64: "Double",
    torch.float32: "Float",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int32: "Int",
    torch.int64: "Long",
}


def same_layout(lists: Sequence[Sequence[Tensor]]) -> bool:
    """Tell whether the tensors at the same place of each list have the same strides.

    torch's fused kernels walk through memory, and do not look at strides.
    """
    strides = [list(map(Tensor.stride, tensors)) for tensors in lists]
    return all(other == strides[0] for other in strides[1:])


def each_at_full_precision(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors, in float32 where they are of lower precision."""
    return [tensor.float() if tensor.dtype in LOW_PRECISION else tensor for tensor in tensors]


def full_precision(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors of one dtype, in float32 if that is of lower precision."""
    low = bool(tensors) and tensors[0].dtype in LOW_PRECISION
    return each_at_full_precision(tensors) if low else list(tensors)


@contextmanager
def at_full_precision(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Give tensors of one dtype, or float32 copies that are rounded and written back at the end."""
    worked_on = full_precision(tensors)
    yield worked_on
    if tensors and tensors[0].dtype in LOW_PRECISION:
        torch._foreach_copy_(list(tensors), worked_on)


@functools.cache
def has_kernel(operator: str, device_type: str) -> bool:
    """Tell whether a device has a kernel of its own for one of torch's operators.

    Args:
        operator: Its name, with its namespace if that is not ``aten``: ``"_fused_adamw_"``.
        device_type: torch's name of the device.
    """
    namespace, _, name = operator.rpartition("::")
    if not hasattr(getattr(torch.ops, namespace or "aten"), name):
        return False
    key = torch._C._dispatch_key_for_device(device_type)
    return torch._C._dispatch_has_kernel_for_dispatch_key(f"{namespace or 'aten'}::{name}", key)


def _formats(tensor: Tensor) -> tuple[torch.memory_format, ...]:
    return DENSE_FORMATS[tensor.dim() - 3 : tensor.dim() - 2] if tensor.dim() in (4, 5) else ()


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)
