"""Scaling, sums and norms of lists of tensors, with a flag for infinities and NaNs.

See ``tensor_lists`` for the common arguments; ``noop_flag`` is set to 1 if an infinity or NaN was found.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .tensor_lists import FLOAT_AND_HALF, FLOATS, LOW_PRECISION, Lists, check, full_precision

_LARGE, _ROW = 1 << 18, 1 << 10  # elements


def multi_tensor_scale(chunk_size: int, noop_flag: Tensor, lists: Lists, scale: float, /) -> None:
    """Write ``input * scale`` to each output, computed in float32; they may be the same tensors."""
    check(lists, 2, FLOATS, "multi_tensor_scale_cuda")
    inputs, outputs = lists
    scale_into(inputs, outputs, scale, noop_flag)


def scale_into(inputs: Sequence[Tensor], outputs: Sequence[Tensor], scale: float, noop_flag: Tensor) -> None:
    """Do what ``multi_tensor_scale`` does, without its checks."""
    results = list(outputs)
    if inputs[0].dtype not in LOW_PRECISION and outputs[0].dtype in LOW_PRECISION:
        results = [tensor.clone() for tensor in inputs]
    elif inputs[0] is not outputs[0]:
        torch._foreach_copy_(results, list(inputs))
    found = torch.zeros((), device=results[0].device)
    factor = torch.full((), scale, device=results[0].device)
    torch._amp_foreach_non_finite_check_and_unscale_(results, found, factor)
    raise_flag(noop_flag, found != 0)
    if results[0] is not outputs[0]:
        torch._foreach_copy_(list(outputs), results)


def raise_flag(noop_flag: Tensor, condition: Tensor) -> None:
    """Set a flag to 1 if the condition, a tensor of one element, holds; does not wait for the device."""
    noop_flag.bitwise_or_(condition.reshape(noop_flag.shape).to(noop_flag.dtype))


def multi_tensor_axpby(
    chunk_size: int, noop_flag: Tensor, lists: Lists, a: float, b: float, arg_to_check: int, /
) -> None:
    """Write ``a * x + b * y`` to each output, computed in float32; the lists are x, y and outputs.

    ``arg_to_check`` selects what is checked for the flag: 0 x, 1 y, -1 both.
    """
    check(lists, 3, FLOAT_AND_HALF, "multi_tensor_axpby_cuda")
    x, y, outputs = lists
    checked = {0: x, 1: y}.get(arg_to_check, [*x, *y])
    add_scaled(x, y, outputs, a, b, noop_flag, checked)


def add_scaled(
    x: Sequence[Tensor],
    y: Sequence[Tensor],
    outputs: Sequence[Tensor],
    a: float,
    b: float,
    noop_flag: Tensor,
    checked: Sequence[Tensor],
) -> None:
    """Do what ``multi_tensor_axpby`` does, without its checks; ``checked`` are the tensors for the flag."""
    raise_flag(noop_flag, ~torch.stack([tensor.isfinite().all() for tensor in checked]).all())
    results = torch._foreach_mul(full_precision(x), a)
    torch._foreach_add_(results, full_precision(y), alpha=b)
    torch._foreach_copy_(list(outputs), results)


def multi_tensor_l2norm(
    chunk_size: int, noop_flag: Tensor, lists: Lists, per_tensor: bool | None = None, /
) -> tuple[Tensor, Tensor]:
    """Return the norm of all tensors together, of shape (1,), and of each, of shape (n,), in float32.

    The second is of shape (0,) unless ``per_tensor``; the flag reports on the first.
    """
    check(lists, 1, FLOATS, "multi_tensor_l2norm_cuda")
    total, each = norms(lists[0])
    raise_flag(noop_flag, ~total.isfinite())
    return total, each if per_tensor else each.new_empty(0)


multi_tensor_l2norm_mp = multi_tensor_l2norm


def norms(tensors: Sequence[Tensor], order: float = 2.0) -> tuple[Tensor, Tensor]:
    """Return the norm of all tensors together, of shape (1,), and of each, of shape (n,), in float32."""
    rows = [_rows(x, order) for x in full_precision(tensors)]
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
    return torch.cat([rows, elements[whole:]])


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
    """Do what ``torch._amp_update_scale_`` does, but shrink only after ``hysteresis`` overflows in a row.

    The hysteresis tracker, int32, holds how many further overflows to tolerate. Returns the scale.
    """
    found = found_inf > 0
    hysteresis_tracker.copy_(torch.where(found, hysteresis_tracker - 1, hysteresis))
    unchanged = current_scale.clone()
    options = growth_factor, backoff_factor, growth_interval
    torch._amp_update_scale_(current_scale, growth_tracker, found_inf, *options)
    current_scale.copy_(torch.where(found & (hysteresis_tracker > 0), unchanged, current_scale))
    # apex compiles its kernels with --use_fast_math, which flushes subnormal results to zero
    return current_scale.masked_fill_(current_scale < torch.finfo(torch.float32).smallest_normal, 0)
