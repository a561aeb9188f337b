"""NovoGrad's update with apex's options: one second moment for each tensor, a blend of its norms."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .scaling import norms
from .tensor_lists import FLOAT_AND_HALF, Lists, at_full_precision, check, check_dtype, full_precision

INSIDE_MOMENT, DECOUPLED = 0, 1
ORDERS = {0: math.inf, 2: 2.0}


@dataclasses.dataclass(frozen=True, slots=True)
class NovoGrad:
    """The options of an update, like those of ``FusedNovoGrad``.

    ``step`` counts from 1; ``mode`` ``INSIDE_MOMENT`` normalises the gradient and adds the decay to it,
    ``DECOUPLED`` the average.
    """

    lr: float
    beta1: float
    beta2: float
    eps: float
    step: int
    bias_correction: bool
    weight_decay: float
    grad_averaging: bool
    mode: int
    norm_type: int

    def corrections(self) -> tuple[float, float]:
        """Return the divisors of the averages of gradients and of the norms."""
        if not self.bias_correction:
            return 1.0, 1.0
        return 1 - self.beta1**self.step, math.sqrt(1 - self.beta2**self.step)


def update(
    grads: Sequence[Tensor],
    params: Sequence[Tensor],
    averages: Sequence[Tensor],
    grad_norms: Tensor,
    options: NovoGrad,
) -> None:
    """Update parameters, averages and norms in place.

    Args:
        grads: The gradients, which are not changed.
        params: The parameters, of one dtype; the computation uses float32.
        averages: The running averages of the gradients, of the parameters' dtype.
        grad_norms: The blended norm of each gradient, of shape (n,), float32.
        options: The options.
    """
    _blend(grad_norms, norms(grads, ORDERS.get(options.norm_type, 2.0))[1], options)
    first, second = options.corrections()
    denominators = (grad_norms / second + options.eps).unbind()
    with at_full_precision(params, averages) as (full_params, full_averages):
        steps = full_precision(grads)
        if options.mode == INSIDE_MOMENT:
            steps = list(torch._foreach_div(steps, denominators))
            torch._foreach_add_(steps, full_params, alpha=options.weight_decay)
        torch._foreach_mul_(full_averages, options.beta1)
        weight = 1 - options.beta1 if options.grad_averaging else 1.0
        torch._foreach_add_(full_averages, steps, alpha=weight)
        updates = full_averages
        if options.mode == DECOUPLED:
            updates = list(torch._foreach_div(full_averages, denominators))
            torch._foreach_mul_(full_params, 1 - options.lr * options.weight_decay)
        torch._foreach_add_(full_params, updates, alpha=-options.lr / first)


def _blend(kept: Tensor, new: Tensor, options: NovoGrad) -> None:
    if options.norm_type == 0:
        kept.lerp_(new, 1 - options.beta2)
    else:
        kept.square_().lerp_(new.square(), 1 - options.beta2).sqrt_()


def multi_tensor_novograd(
    chunk_size: int, noop_flag: Tensor, lists: Lists, grad_norms: Tensor, *options: Any
) -> None:
    """Update parameters, averages of gradients, and the norm of each tensor, of shape (n,), float32.

    The lists are gradients, parameters, averages.
    """
    check(lists, 3)
    check_dtype(lists[0][0], (*FLOAT_AND_HALF, torch.float64), "novograd")
    grads, params, averages = lists
    update(grads, params, averages, grad_norms, NovoGrad(*options))
