"""Adam's update with apex's options."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from .tensor_lists import at_full_precision, full_precision, has_kernel, same_layout

L2, DECOUPLED = 0, 1


@dataclasses.dataclass(frozen=True, slots=True)
class Adam:
    """The options of an update.

    Attributes:
        lr: The learning rate; a tensor where a graph may be captured.
        beta1: The decay of the average of gradients.
        beta2: The decay of the average of squared gradients.
        eps: Added to the denominator.
        step: The number of this step, from 1.
        mode: ``L2`` adds the decay to the gradient, ``DECOUPLED`` to the update.
        bias_correction: Whether the averages are corrected for having started from zero.
        weight_decay: The factor of the decay.
    """

    lr: float | Tensor
    beta1: float
    beta2: float
    eps: float
    step: int | Tensor
    mode: int
    bias_correction: bool
    weight_decay: float

    def step_on(self, device: torch.device) -> Tensor:
        """Return the step as the fused kernels take it: infinite where there is nothing to correct."""
        if not self.bias_correction:
            return torch.full((), float("inf"), device=device)
        if isinstance(self.step, Tensor):
            return self.step.float().reshape(())
        return torch.full((), float(self.step), device=device)

    def corrections(self) -> tuple[float, float]:
        """Return what the averages of gradients and of their squares are divided by."""
        if not self.bias_correction:
            return 1.0, 1.0
        step = int(self.step)
        return 1 - self.beta1**step, 1 - self.beta2**step


def update(
    grads: Sequence[Tensor],
    params: Sequence[Tensor],
    averages: Sequence[Tensor],
    squares: Sequence[Tensor],
    options: Adam,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Update parameters and averages in place.

    Args:
        grads: The gradients.
        params: The parameters, of one dtype; computed with in float32.
        averages: The running averages of the gradients.
        squares: The running averages of their squares.
        options: The options.
        grad_scale: What the gradients are divided by, also in place; a float32 tensor of one element.
        found_inf: Above 0 if nothing is to be done; a float32 tensor of one element.
    """
    with (
        at_full_precision(params) as full_params,
        at_full_precision(averages) as full_averages,
        at_full_precision(squares) as full_squares,
    ):
        full_grads = full_precision(grads)
        lists = (full_params, full_grads, full_averages, full_squares)
        fused = has_kernel("_fused_adamw_", params[0].device.type) and same_layout(lists)
        apply = _apply_fused if fused else _apply_foreach
        apply(*lists, options, grad_scale, found_inf)
        if grad_scale is not None and full_grads[0] is not grads[0]:
            torch._foreach_copy_(list(grads), full_grads)


def _apply_fused(
    params: list[Tensor],
    grads: list[Tensor],
    averages: list[Tensor],
    squares: list[Tensor],
    options: Adam,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    apply = torch._fused_adamw_ if options.mode == DECOUPLED else torch._fused_adam_
    apply(
        params,
        grads,
        averages,
        squares,
        [],
        [options.step_on(params[0].device)] * len(params),
        lr=options.lr,
        beta1=options.beta1,
        beta2=options.beta2,
        weight_decay=options.weight_decay,
        eps=options.eps,
        amsgrad=False,
        maximize=False,
        grad_scale=grad_scale,
        found_inf=found_inf,
    )


def _apply_foreach(
    params: list[Tensor],
    grads: list[Tensor],
    averages: list[Tensor],
    squares: list[Tensor],
    options: Adam,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    if found_inf is not None and bool(found_inf):
        return
    if grad_scale is not None:
        torch._foreach_div_(grads, grad_scale)
    lr, decay = float(options.lr), options.weight_decay
    if decay and options.mode == L2:
        grads = list(torch._foreach_add(grads, params, alpha=decay))
    first, second = options.corrections()
    torch._foreach_lerp_(averages, grads, 1 - options.beta1)
    torch._foreach_mul_(squares, options.beta2)
    torch._foreach_addcmul_(squares, grads, grads, 1 - options.beta2)
    denominators = torch._foreach_div(squares, second)
    torch._foreach_sqrt_(denominators)
    torch._foreach_add_(denominators, options.eps)
    if decay and options.mode == DECOUPLED:
        torch._foreach_mul_(params, 1 - lr * decay)
    torch._foreach_addcdiv_(params, averages, denominators, -lr / first)


def round_into(params: Sequence[Tensor], masters: Sequence[Tensor], found_inf: Tensor) -> None:
    """Write masters to their parameters, unless ``found_inf`` is above 0; does not wait for the device."""
    skipped = found_inf.reshape(()) > 0
    for param, master in zip(params, masters, strict=True):
        param.copy_(torch.where(skipped, param, master))
