"""Adam's update as apex had it first: corrected by the length of the step, with room for copies."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .tensor_lists import full_precision

INSIDE, OUTSIDE = 0, 1


@dataclasses.dataclass(frozen=True, slots=True)
class ContribAdam:
    """The options of an update.

    Attributes:
        lr: The learning rate.
        beta1: The decay of the average of gradients.
        beta2: The decay of the average of squared gradients.
        eps: Added to the denominator.
        scale: What the gradients are divided by first.
        step: The number of this step, from 1.
        mode: Whether ``eps`` is added ``INSIDE`` the square root or ``OUTSIDE`` of it.
        bias_correction: Whether the step is as long as averages that start from zero call for.
        weight_decay: The factor of the decay, which joins the update.
    """

    lr: float
    beta1: float
    beta2: float
    eps: float
    scale: float
    step: int
    mode: int
    bias_correction: bool
    weight_decay: float

    @property
    def length(self) -> float:
        """How far a parameter moves along its direction."""
        if not self.bias_correction:
            return self.lr
        return self.lr * math.sqrt(1 - self.beta2**self.step) / (1 - self.beta1**self.step)


def update(
    grads: Sequence[Tensor],
    params: Sequence[Tensor],
    averages: Sequence[Tensor],
    squares: Sequence[Tensor],
    options: ContribAdam,
) -> None:
    """Update parameters and averages in place.

    Args:
        grads: The gradients, of one dtype.
        params: The parameters, float32, or float64 as the gradients.
        averages: The running averages of the gradients, of the parameters' dtype.
        squares: The running averages of their squares, of the parameters' dtype.
        options: The options.

    Raises:
        RuntimeError: If a parameter has another dtype.
    """
    dtype = torch.float32 if grads[0].dtype == torch.float16 else grads[0].dtype
    if any(param.dtype != dtype for param in params):
        raise RuntimeError("expected parameter to be of float type")
    scaled = torch._foreach_div(full_precision(grads), options.scale)
    torch._foreach_lerp_(list(averages), scaled, 1 - options.beta1)
    torch._foreach_mul_(list(squares), options.beta2)
    torch._foreach_addcmul_(list(squares), scaled, scaled, 1 - options.beta2)
    if options.mode == INSIDE:
        denominators = torch._foreach_add(list(squares), options.eps)
        torch._foreach_sqrt_(denominators)
    else:
        denominators = torch._foreach_sqrt(list(squares))
        torch._foreach_add_(denominators, options.eps)
    if options.weight_decay:
        torch._foreach_mul_(list(params), 1 - options.length * options.weight_decay)
    torch._foreach_addcdiv_(list(params), list(averages), denominators, -options.length)
