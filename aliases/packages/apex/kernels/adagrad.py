"""Adagrad's update with apex's options."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .tensor_lists import (
    FLOAT_AND_HALF,
    Lists,
    at_full_precision,
    check,
    check_dtype,
    full_precision,
    has_kernel,
    same_layout,
)

L2, DECOUPLED = 0, 1


def update(
    grads: Sequence[Tensor],
    params: Sequence[Tensor],
    sums: Sequence[Tensor],
    lr: float,
    eps: float,
    mode: int,
    weight_decay: float,
) -> None:
    """Update parameters and sums in place.

    Args:
        grads: The gradients, which are not changed.
        params: The parameters, of one dtype; the computation uses float32.
        sums: The sums of squared gradients, of the parameters' dtype.
        lr: The learning rate.
        eps: Added to the denominator.
        mode: ``L2`` adds the decay to the gradient, ``DECOUPLED`` to the update.
        weight_decay: The factor of the decay.
    """
    with at_full_precision(params, sums) as (full_params, full_sums):
        if mode == DECOUPLED and weight_decay:
            # the update does not depend on the parameter, so the decay may be applied first
            torch._foreach_mul_(full_params, 1 - lr * weight_decay)
            weight_decay = 0.0
        lists = (full_params, full_precision(grads), full_sums)
        fused = has_kernel("_fused_adagrad_", params[0].device.type) and same_layout(lists)
        (_apply_fused if fused else _apply_foreach)(*lists, lr, eps, weight_decay)


def _apply_fused(
    params: list[Tensor], grads: list[Tensor], sums: list[Tensor], lr: float, eps: float, weight_decay: float
) -> None:
    steps = [torch.ones((), device=params[0].device)] * len(params)
    torch._fused_adagrad_(
        *(params, grads, sums, steps),
        lr=lr,
        lr_decay=0.0,
        weight_decay=weight_decay,
        eps=eps,
        maximize=False,
    )


def _apply_foreach(
    params: list[Tensor], grads: list[Tensor], sums: list[Tensor], lr: float, eps: float, weight_decay: float
) -> None:
    if weight_decay:
        grads = list(torch._foreach_add(grads, params, alpha=weight_decay))
    torch._foreach_addcmul_(sums, grads, grads)
    denominators = torch._foreach_sqrt(sums)
    torch._foreach_add_(denominators, eps)
    torch._foreach_addcdiv_(params, grads, denominators, -lr)


def multi_tensor_adagrad(chunk_size: int, noop_flag: Tensor, lists: Lists, *options: float) -> None:
    """Update parameters and sums; lists: gradients, parameters, sums; options: those of ``update``."""
    check(lists, 3)
    check_dtype(lists[0][0], (*FLOAT_AND_HALF, torch.float64), "adagrad")
    grads, params, sums = lists
    lr, eps, mode, weight_decay = options
    update(grads, params, sums, lr, eps, int(mode), weight_decay)
