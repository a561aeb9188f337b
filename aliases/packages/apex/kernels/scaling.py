"""Scaling, sums and norms of lists of tensors, with a flag for infinities and NaNs.

See ``tensor_lists`` for the common arguments; ``noop_flag`` is set to 1 if an infinity or NaN was found.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .tensor_lists import (
    FLOAT_AND_HALF,
    FLOATS,
    LOW_PRECISION,
    Lists,
    check,
    check_dtype,
    each_at_full_precision,
)

_LARGE, _ROW = 1 << 18, 1 << 10  # elements


def multi_tensor_scale(chunk_size: int, noop_flag: Tensor, lists: Lists, scale: float, /) -> None:
    """Write ``input * scale`` to each output, computed in float32; they may be the same tensors."""
    check(lists, 2)
    for tensors in lists:
        check_dtype(tensors[0], FLOATS, "multi_tensor_scale_cuda")
    inputs, outputs = lists
    scale_into(inputs, outputs, scale, noop_flag)


def scale_into(inputs: Sequence[Tensor], outputs: Sequence[Tensor], scale: float, noop_flag: Tensor) -> None:
    """Do what ``multi_tensor_scale`` does, without its checks."""
    if inputs[0].dtype in LOW_PRECISION or outputs[0].dtype not in LOW_PRECISION:
        if inputs[0] is not outputs[0]:
            torch._foreach_copy_(list(outputs), list(inputs))
        _scale_and_check(outputs, scale, noop_flag)
        return
    results = [tensor.clone() for tensor in inputs]
    _scale_and_check(results, scale, noop_flag)
    torch._foreach_copy_(list(outputs), results)


def _scale_and_check(tensors: Sequence[Tensor], scale: float, noop_flag: Tensor) -> None:
    found = torch.zeros((), device=tensors[0].device)
    factor = torch.full((), scale, device=tensors[0].device)
    torch._amp_foreach_non_finite_check_and_unscale_(list(tensors), found, factor)
    raise_flag(noop_flag, found != 0)


def raise_flag(noop_flag: Tensor, condition: Tensor) -> None:
    """Set a flag to 1 if the condition, a tensor of one element, holds; does not wait for the device."""
    noop_flag.bitwise_or_(condition.reshape(noop_flag.shape).to(noop_flag.dtype))


def multi_tensor_axpby(
    chunk_size: int, noop_flag: Tensor, lists: Lists, a: float, b: float, arg_to_check: int, /
) -> None:
    """Write ``a * x + b * y`` to each output, computed in float32; the lists are x, y and outputs.

    ``arg_to_check`` selects what is checked for the flag: 0 x, 1 y, -1 both.
    """
    check(lists, 3)
    for tensors in lists:
        check_dtype(tensors[0], FLOAT_AND_HALF, "multi_tensor_axpby_cuda")
    x, y, outputs = lists
    finite = all_finite([*(x if arg_to_check in (-1, 0) else ()), *(y if arg_to_check in (-1, 1) else ())])
    results = torch._foreach_mul(each_at_full_precision(x), a)
    torch._foreach_add_(results, each_at_full_precision(y), alpha=b)
    torch._foreach_copy_(list(outputs), results)
    raise_flag(noop_flag, ~finite)


def all_finite(tensors: Sequence[Tensor]) -> Tensor:
    """Return whether every element is finite, as a tensor without dimensions on the tensors' device."""
    return torch.stack([tensor.isfinite().all() for tensor in tensors]).all()


def multi_tensor_l2norm(
    chunk_size: int, noop_flag: Tensor, lists: Lists, per_tensor: bool | None = None, /
) -> tuple[Tensor, Tensor]:
    """Return the norm of all tensors together, of shape (1,), and of each, of shape (n,), in float32.

    The second is of shape (0,) unless ``per_tensor``; the flag reports on the first.
    """
    check(lists, 1)
    check_dtype(lists[0][0], FLOATS, "multi_tensor_l2norm_cuda")
    total, each = norms(lists[0])
    raise_flag(noop_flag, ~total.isfinite())
    return total, each if per_tensor else each.new_empty(0)


multi_tensor_l2norm_mp = multi_tensor_l2norm


def norms(tensors: Sequence[Tensor], order: float = 2.0) -> tuple[Tensor, Tensor]:
    """Return the norm of all tensors together, of shape (1,), and of each, of shape (n,), in float32."""
    rows = [_rows(x, order) for x in each_at_full_precision(tensors)]
    each = torch.stack(torch._foreach_norm(rows, order)).float()
    return torch.linalg.vector_norm(each, order).reshape(1), each


def _rows(tensor: Tensor, order: float) -> Tensor:
    """Return a tensor with the same norm: the norms of its rows for a large one.

    torch's CPU kernel adds elements one by one in float32: with 2**25 elements it loses a thousandth.
    """
    if tensor.numel() <= _LARGE:
        return tensor
    whole = tensor.numel() // _ROW * _ROW
    elements = tensor.reshape(-1)
    rows = torch.linalg.vector_norm(elements[:whole].view(-1, _ROW), order, dim=1)
    return rows if whole == len(elements) else torch.cat([rows, elements[whole:]])


def multi_tensor_l2norm_scale(
    chunk_size: int, noop_flag: Tensor, lists: Lists, scale: float, per_tensor: bool | None = None, /
) -> tuple[Tensor, Tensor]:
    """Do what ``multi_tensor_l2norm`` does to the inputs, and write ``input * scale`` to the outputs."""
    check(lists, 2)
    result = multi_tensor_l2norm(chunk_size, noop_flag, lists[:1], per_tensor)
    torch._foreach_copy_(list(lists[1]), torch._foreach_mul(each_at_full_precision(lists[0]), scale))
    return result


def multi_tensor_unscale_l2norm(
    chunk_size: int, noop_flag: Tensor, lists: Lists, inv_scale: Tensor, per_tensor: bool | None = None, /
) -> tuple[Tensor, Tensor]:
    """Compute the norms of tensors times ``inv_scale``, without changing the tensors."""
    total, each = multi_tensor_l2norm(chunk_size, noop_flag, lists, per_tensor)
    factor = inv_scale.abs().reshape(())
    return total * factor, each * factor


def update_scale_hysteresis(
    current_scale: Tensor,
    growth_tracker: Tensor,
    hysteresis_tracker: Tensor,
    found_inf: Tensor,
    growth_factor: float,
    backoff_factor: float,
    growth_interval: int,
    hysteresis: int,
    /,
) -> Tensor:
    """Update a loss scale that shrinks only after ``hysteresis`` steps with infinities in a row.

    Args:
        current_scale: float32, of one element; changed in place, like the two trackers.
        growth_tracker: int32: the number of consecutive steps without infinities.
        hysteresis_tracker: int32: the number of further steps with infinities to tolerate.
        found_inf: float32: above 0 if this step found infinities.
        growth_factor: The factor of the scale after ``growth_interval`` good steps.
        backoff_factor: The factor of the scale when it shrinks.
        growth_interval: The number of consecutive good steps after which the scale grows.
        hysteresis: The value of the hysteresis tracker after a good step.

    Returns:
        ``current_scale``.
    """
    found = found_inf > 0
    hysteresis_tracker.copy_(torch.where(found, hysteresis_tracker - 1, hysteresis))
    unchanged = current_scale.clone()
    options = growth_factor, backoff_factor, growth_interval
    torch._amp_update_scale_(current_scale, growth_tracker, found_inf, *options)
    current_scale.copy_(torch.where(found & (hysteresis_tracker > 0), unchanged, current_scale))
    # apex compiles its kernels with --use_fast_math, which flushes subnormal results to zero
    return current_scale.masked_fill_(current_scale < torch.finfo(torch.float32).smallest_normal, 0)
