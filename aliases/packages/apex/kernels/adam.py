"""Adam's update with apex's options, by torch's fused kernel or its foreach operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .tensor_lists import FLOATS, Lists, at_full_precision, check, full_precision, has_kernel, same_layout

L2, DECOUPLED = 0, 1


class Adam(NamedTuple):
    """The options of an update, in the order of ``multi_tensor_adam``.

    ``lr`` and ``step``, which counts from 1, are tensors if a graph may be captured; ``mode`` ``L2`` adds the
    decay to the gradient, ``DECOUPLED`` to the update.
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
        """Return the step for the fused kernels: infinite if there is nothing to correct."""
        if isinstance(self.step, Tensor) and self.bias_correction:
            return self.step.float().reshape(())
        return torch.full((), float(self.step) if self.bias_correction else float("inf"), device=device)


def update(
    lists: Lists, options: Adam, grad_scale: Tensor | None = None, found_inf: Tensor | None = None
) -> None:
    """Update parameters and averages in place; low precision is computed in float32.

    Args:
        lists: Gradients, parameters, averages of gradients and of their squares, each of one dtype.
        options: The options.
        grad_scale: The divisor of the gradients, applied in place; a float32 tensor of one element.
        found_inf: Above 0 if nothing should be done; a float32 tensor of one element.
    """
    grads, params, averages, squares = lists
    full_grads = full_precision(grads)
    with at_full_precision(params, averages, squares) as (full_params, *full_averages):
        full = [full_params, full_grads, *full_averages]
        if has_kernel("_fused_adamw_", params[0].device.type) and same_layout(full):
            _apply_fused(full, options, grad_scale, found_inf)
        elif found_inf is None or not found_inf:
            _apply_foreach(full, options, grad_scale)
    if grad_scale is not None and full_grads[0] is not grads[0]:
        torch._foreach_copy_(list(grads), full_grads)


def _apply_fused(
    lists: list[list[Tensor]], options: Adam, grad_scale: Tensor | None, found_inf: Tensor | None
) -> None:
    apply: Any = torch._fused_adamw_ if options.mode == DECOUPLED else torch._fused_adam_
    steps = [options.step_on(lists[0][0].device)] * len(lists[0])
    names = "lr", "beta1", "beta2", "weight_decay", "eps"
    rates: dict[str, Any] = {name: getattr(options, name) for name in names}
    modes: dict[str, Any] = {"amsgrad": False, "maximize": False}
    apply(*lists, [], steps, **rates, **modes, grad_scale=grad_scale, found_inf=found_inf)


def _apply_foreach(lists: list[list[Tensor]], options: Adam, grad_scale: Tensor | None) -> None:
    params, grads, averages, squares = lists
    lr, decay, step = float(options.lr), options.weight_decay, float(options.step_on(params[0].device))
    if grad_scale is not None:
        torch._foreach_div_(grads, grad_scale)
    if decay and options.mode == L2:
        grads = list(torch._foreach_add(grads, params, alpha=decay))
    torch._foreach_lerp_(averages, grads, 1 - options.beta1)
    torch._foreach_mul_(squares, options.beta2)
    torch._foreach_addcmul_(squares, grads, grads, 1 - options.beta2)
    denominators = torch._foreach_div(squares, 1 - options.beta2**step)
    torch._foreach_sqrt_(denominators)
    torch._foreach_add_(denominators, options.eps)
    if decay and options.mode == DECOUPLED:
        torch._foreach_mul_(params, 1 - lr * decay)
    torch._foreach_addcdiv_(params, averages, denominators, -lr / (1 - options.beta1**step))


def round_into(params: Sequence[Tensor], masters: Sequence[Tensor], found_inf: Tensor) -> None:
    """Copy masters to their parameters unless ``found_inf`` is above 0; does not wait for the device."""
    skipped = found_inf.reshape(()) > 0
    for param, master in zip(params, masters, strict=True):
        param.copy_(torch.where(skipped, param, master))


def multi_tensor_adam(chunk_size: int, noop_flag: Tensor, lists: Lists, *options: Any) -> None:
    """Update parameters and averages; lists: gradients, parameters, averages and averages of squares."""
    check(lists, 4, (*FLOATS, torch.float64), "adam")
    update(lists, Adam(*options))


def multi_tensor_adam_capturable(chunk_size: int, noop_flag: Tensor, lists: Lists, *options: Any) -> None:
    """Do what ``multi_tensor_adam`` does, with tensors for all values that change from step to step.

    If ``noop_flag`` is 1, nothing is done. The learning rate is float32 and the step int32. After the options
    comes a float32 tensor by which the gradients are first multiplied, in place.
    """
    check(lists, 4, (*FLOATS, torch.float64), "adam")
    *first, inv_scale = options
    update(lists, Adam(*first), inv_scale.reciprocal(), (noop_flag == 1).float())


def multi_tensor_adam_capturable_master(
    chunk_size: int, noop_flag: Tensor, lists: Lists, *options: Any
) -> None:
    """Do what ``multi_tensor_adam_capturable`` does, to float32 masters in the fifth list, and round them."""
    grads, params, averages, squares, masters = lists
    multi_tensor_adam_capturable(chunk_size, noop_flag, (grads, masters, averages, squares), *options)
    round_into(params, masters, (noop_flag == 1).float())
