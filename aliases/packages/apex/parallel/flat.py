"""Collectives on many tensors at once, concatenated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch._utils
import torch.distributed as dist
from torch import Tensor


def flatten(bucket: Sequence[Tensor]) -> Tensor:
    """Return the elements of all tensors, which must have one type, in one dimension."""
    return torch._utils._flatten_dense_tensors(bucket)  # type: ignore[no-any-return, no-untyped-call]


def unflatten(coalesced: Tensor, bucket: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return views of a flat tensor with the shapes of the tensors in ``bucket``."""
    return torch._utils._unflatten_dense_tensors(coalesced, bucket)  # type: ignore[no-any-return, no-untyped-call]


def split_by_type(tensors: Sequence[Tensor]) -> dict[str, list[Tensor]]:
    """Return the tensors by the name of their type."""
    buckets: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        buckets.setdefault(str(tensor.type()), []).append(tensor)
    return buckets


def apply_flat_dist_call(
    bucket: Sequence[Tensor], call: Callable[..., Any], extra_args: Sequence[Any] | None = None
) -> None:
    """Run a collective with more arguments on tensors of one type, in place; ``all_reduce`` averages them."""
    coalesced = flatten(bucket)
    call(coalesced, *(extra_args or ()))
    if call is dist.all_reduce:
        coalesced /= dist.get_world_size()
    torch._foreach_copy_(list(bucket), list(unflatten(coalesced, bucket)))


def flat_dist_call(
    tensors: Sequence[Tensor], call: Callable[..., Any], extra_args: Sequence[Any] | None = None
) -> None:
    """Run a collective on tensors of any types, in place; otherwise like ``apply_flat_dist_call``."""
    for bucket in split_by_type(tensors).values():
        apply_flat_dist_call(bucket, call, extra_args)


def extract_tensors(maybe_tensor: Any, tensor_list: list[Tensor]) -> None:
    """Append the tensors in nested iterables to a list."""
    if isinstance(maybe_tensor, Tensor):
        tensor_list.append(maybe_tensor)
    elif hasattr(maybe_tensor, "__iter__"):
        for item in maybe_tensor:
            extract_tensors(item, tensor_list)
