"""LAMB's update with apex's options: Adam's direction, with a length given by each tensor's norms."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import adam
from .adam import L2, Adam, round_into
from .scaling import norms
from .tensor_lists import FLOAT_AND_HALF, FLOATS, Lists, at_full_precision, check, check_dtype, full_precision


@dataclasses.dataclass(frozen=True, slots=True)
class LAMB:
    """The options of an update, in the order of ``multi_tensor_lamb``; see ``Adam`` for the shared ones.

    Attributes:
        grad_averaging: Whether a gradient's weight in its average is ``1 - beta1`` instead of 1.
        use_nvlamb: Whether tensors without weight decay are scaled by their norms too.
    """

    lr: float | Tensor
    beta1: float
    beta2: float
    eps: float
    step: int | Tensor
    bias_correction: bool
    weight_decay: float
    grad_averaging: bool
    mode: int
    use_nvlamb: bool | None = None

    def direction(self) -> Adam:
        """Return the options with which an Adam step from zero yields the direction."""
        return Adam(-1.0, self.beta1, self.beta2, self.eps, self.step, L2, self.bias_correction, 0.0)


def clipping(global_norm: Tensor, max_norm: float | Tensor) -> Tensor:
    """Return the divisor with which the gradients' global norm is at most ``max_norm``."""
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

    Args (the others are those of ``adam.update``):
        grads: The gradients; their values afterwards are undefined, as in apex.
        divisor: The initial divisor of the gradients; a float32 tensor without dimensions.
    """
    with at_full_precision(params, averages, squares) as (full_params, *full_averages):
        lists = [full_precision(grads), full_params, *full_averages]
        updates = directions(lists, options, divisor, found_inf)
        if options.use_nvlamb or options.weight_decay:
            lengths = trust(norms(full_params)[1], norms(updates)[1], options.lr)
        else:
            lengths = torch.ones(len(params), device=params[0].device) * options.lr
        if found_inf is not None:
            lengths = torch.where(found_inf > 0, torch.zeros_like(lengths), lengths)
        torch._foreach_addcmul_(full_params, updates, list(lengths.unbind()), value=-1)


def directions(
    lists: list[list[Tensor]], options: LAMB, divisor: Tensor | None, found_inf: Tensor | None = None
) -> list[Tensor]:
    """Update the averages, and return the parameters' updates except for their length.

    Args (the others are those of ``update``):
        lists: Gradients, parameters and averages of both orders, all in float32.
    """
    grads, params, averages, squares = lists
    decay = options.weight_decay
    changed = decay and options.mode == L2
    if divisor is not None and (changed or not options.grad_averaging):
        grads, divisor = list(torch._foreach_div(grads, divisor)), None
    if changed:
        torch._foreach_add_(grads, params, alpha=decay)
    updates = [torch.zeros_like(average) for average in averages]
    if options.grad_averaging:
        adam.update(grads, updates, averages, squares, options.direction(), divisor, found_inf)
    elif found_inf is None or not found_inf:
        _direct(grads, updates, averages, squares, options.direction())
    if decay and options.mode != L2:
        torch._foreach_add_(updates, params, alpha=decay)
    return updates


def _direct(
    grads: list[Tensor], updates: list[Tensor], averages: list[Tensor], squares: list[Tensor], options: Adam
) -> None:
    first, second = options.corrections()
    torch._foreach_mul_(averages, options.beta1)
    torch._foreach_add_(averages, grads)
    torch._foreach_mul_(squares, options.beta2)
    torch._foreach_addcmul_(squares, grads, grads, 1 - options.beta2)
    denominators = torch._foreach_div(squares, second)
    torch._foreach_sqrt_(denominators)
    torch._foreach_add_(denominators, options.eps)
    torch._foreach_addcdiv_(updates, averages, denominators, 1 / first)


def trust(param_norms: Tensor, update_norms: Tensor, lr: float | Tensor) -> Tensor:
    """Return each tensor's learning rate: scaled by the ratio of its norms if neither is zero."""
    ratios = param_norms / update_norms
    usable = (param_norms != 0) & (update_norms != 0)
    return torch.where(usable, ratios, torch.ones_like(ratios)) * lr


def multi_tensor_lamb(chunk_size: int, noop_flag: Tensor, lists: Lists, *options: Any) -> None:
    """Update parameters and the averages of both orders; the lists are those of ``multi_tensor_adam``.

    Before the last option come the norm of all gradients, a float32 tensor of one element, and its maximum.
    apex writes the updates to the gradients, which are unchanged here.
    """
    check(lists, 4)
    check_dtype(lists[0][0], FLOAT_AND_HALF, "lamb_stage_1")
    grads, params, averages, squares = lists
    divisor = clipping(*options[9:11])
    update(grads, params, averages, squares, LAMB(*options[:9], *options[11:]), divisor)


def multi_tensor_lamb_mp(chunk_size: int, noop_flag: Tensor, lists: Lists, *options_and_scales: Any) -> None:
    """Do what ``multi_tensor_lamb`` does, with tensors for all values that change from step to step.

    If ``noop_flag`` is not 0, nothing is done. The parameters may be float32 masters, with copies of them in
    the gradients' dtype in a fifth list. After the options come a tensor that reports infinities, which is
    ignored in favour of the flag, and the factor of the gradients, a float32 tensor.
    """
    check(lists, 5 if len(lists) == 5 else 4)
    check_dtype(lists[0][0], FLOATS if len(lists) == 5 else FLOAT_AND_HALF, "lamb_stage_1")
    *options, _, inv_scale = options_and_scales
    grads, params, averages, squares = lists[:4]
    divisor = clipping(*options[9:11]) / inv_scale.reshape(())
    skipped = (noop_flag != 0).float()
    update(grads, params, averages, squares, LAMB(*options[:9], *options[11:]), divisor, skipped)
    if len(lists) == 5:
        round_into(lists[4], params, skipped)
