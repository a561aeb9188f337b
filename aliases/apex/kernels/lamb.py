"""LAMB's update with apex's options: Adam's direction, as long as each tensor's norms say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from .adam import L2, Adam
from .adam import update as update_adam
from .scaling import norms
from .tensor_lists import at_full_precision, full_precision


@dataclasses.dataclass(frozen=True, slots=True)
class LAMB:
    """The options of an update.

    Attributes:
        adam: Those of the direction; its weight decay is left to LAMB.
        weight_decay: The factor of the decay.
        grad_averaging: Whether a gradient joins its average with the weight ``1 - beta1``, and not 1.
        use_nvlamb: Whether tensors without weight decay are scaled by their norms too.
    """

    adam: Adam
    weight_decay: float
    grad_averaging: bool
    use_nvlamb: bool


def clipping(global_norm: Tensor, max_norm: float | Tensor) -> Tensor:
    """Return what gradients are divided by, so that their global norm is at most ``max_norm``."""
    ratio = global_norm / max_norm
    return torch.where(ratio > 1, ratio, torch.ones_like(ratio)).reshape(())


def update(
    grads: Sequence[Tensor],
    params: Sequence[Tensor],
    averages: Sequence[Tensor],
    squares: Sequence[Tensor],
    options: LAMB,
    divisor: Tensor,
    found_inf: Tensor | None = None,
) -> None:
    """Update parameters and averages in place.

    Args:
        grads: The gradients; what is in them afterwards is not defined, as with apex.
        params: The parameters, of one dtype; computed with in float32.
        averages: The running averages of the gradients.
        squares: The running averages of their squares.
        options: The options.
        divisor: What the gradients are divided by first; a float32 tensor without dimensions.
        found_inf: Above 0 if nothing is to be done; a float32 tensor of one element.
    """
    with (
        at_full_precision(params) as full_params,
        at_full_precision(averages) as full_averages,
        at_full_precision(squares) as full_squares,
    ):
        lists = (full_precision(grads), full_params, full_averages, full_squares)
        updates = directions(*lists, options, divisor, found_inf)
        apply(updates, full_params, options, found_inf)


def directions(
    grads: list[Tensor],
    params: list[Tensor],
    averages: list[Tensor],
    squares: list[Tensor],
    options: LAMB,
    divisor: Tensor | None,
    found_inf: Tensor | None = None,
) -> list[Tensor]:
    """Update the averages, and return what the parameters are to lose, but for its length.

    The arguments are those of ``update``, all in float32; without a ``divisor`` the gradients are whole.
    """
    decay = options.weight_decay
    changed = decay and options.adam.mode == L2
    if divisor is not None and (changed or not options.grad_averaging):
        grads, divisor = list(torch._foreach_div(grads, divisor)), None
    if changed:
        torch._foreach_add_(grads, params, alpha=decay)
    updates = [torch.zeros_like(average) for average in averages]
    if options.grad_averaging:
        # a parameter that starts at zero and learns at the rate -1 becomes Adam's direction
        update_adam(grads, updates, averages, squares, _undecayed(options.adam), divisor, found_inf)
    else:
        _direct(grads, updates, averages, squares, options.adam, found_inf)
    if decay and options.adam.mode != L2:
        torch._foreach_add_(updates, params, alpha=decay)
    return updates


def _undecayed(adam: Adam) -> Adam:
    return dataclasses.replace(adam, lr=-1.0, weight_decay=0.0)


def _direct(
    grads: list[Tensor],
    updates: list[Tensor],
    averages: list[Tensor],
    squares: list[Tensor],
    adam: Adam,
    found_inf: Tensor | None,
) -> None:
    if found_inf is not None and bool(found_inf):
        return
    first, second = adam.corrections()
    torch._foreach_mul_(averages, adam.beta1)
    torch._foreach_add_(averages, grads)
    torch._foreach_mul_(squares, adam.beta2)
    torch._foreach_addcmul_(squares, grads, grads, 1 - adam.beta2)
    denominators = torch._foreach_div(squares, second)
    torch._foreach_sqrt_(denominators)
    torch._foreach_add_(denominators, adam.eps)
    torch._foreach_addcdiv_(updates, averages, denominators, 1 / first)


def apply(
    updates: list[Tensor], params: list[Tensor], options: LAMB, found_inf: Tensor | None = None
) -> None:
    """Take the updates off the parameters, each at the length that the norms of both call for."""
    if options.use_nvlamb or options.weight_decay:
        lengths = trust(norms(params)[1], norms(updates)[1], options.adam.lr)
    else:
        lengths = torch.full((len(params),), 1.0, device=params[0].device) * options.adam.lr
    if found_inf is not None:
        lengths = torch.where(found_inf > 0, torch.zeros_like(lengths), lengths)
    torch._foreach_addcmul_(params, updates, list(lengths.unbind()), value=-1)


def trust(param_norms: Tensor, update_norms: Tensor, lr: float | Tensor) -> Tensor:
    """Return each tensor's learning rate: scaled by the ratio of its norms, where neither is zero."""
    ratios = param_norms / update_norms
    usable = (param_norms != 0) & (update_norms != 0)
    return torch.where(usable, ratios, torch.ones_like(ratios)) * lr
