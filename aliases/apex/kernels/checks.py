"""Checks that apex's extensions make of single tensors."""

from __future__ import annotations

from torch import Tensor

from .tensor_lists import TYPE_NAMES


def check_inputs(**tensors: Tensor) -> None:
    """Check that tensors, by the names that errors call them, are on the device and contiguous.

    Raises:
        RuntimeError: If one is not.
    """
    for name, tensor in tensors.items():
        if not tensor.is_cuda:
            raise RuntimeError(f"{name} must be a CUDA tensor")
        if not tensor.is_contiguous():
            raise RuntimeError(f"{name} must be contiguous")


def check_same_dtype(first: Tensor, *others: Tensor) -> None:
    """Check that tensors have the dtype of the first.

    Raises:
        RuntimeError: If one has not.
    """
    for other in others:
        if other.dtype != first.dtype:
            wanted, found = (TYPE_NAMES.get(each.dtype, str(each.dtype)) for each in (first, other))
            raise RuntimeError(f"expected scalar type {wanted} but found {found}")
