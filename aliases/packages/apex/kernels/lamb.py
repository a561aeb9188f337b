"""LAMB's update with apex's options: Adam's direction, with a length given by each tensor's norms."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import adam
from .adam import L2, Adam
from .scaling import norms
from .tensor_lists import FLOAT_AND_HALF, Lists, at_full_precision, check, full_precision


class LAMB(NamedTuple):
    """The options of an update, in the order of ``multi_tensor_lamb``, like those of ``FusedLAMB``."""

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
        length = 1.0 if self.grad_averaging else 1 / (1 - self.beta1)
        return Adam(-length, self.beta1, self.beta2, self.eps, self.step, L2, self.bias_correction, 0.0)


def clipping(global_norm: Tensor, max_norm: float | Tensor) -> Tensor:
    """Return the divisor with which the gradients' global norm is at most ``max_norm``."""
    return (global_norm / max_norm).clamp(min=1).reshape(())


def update(lists: Lists, options: LAMB, divisor: Tensor, found_inf: Tensor | None = None) -> None:
    """Update parameters and averages in place.

    Args (the others are those of ``adam.update``):
        lists: Those of ``adam.update``; the gradients' values afterwards are undefined, as in apex.
        divisor: The initial divisor of the gradients; a float32 tensor without dimensions.
    """
    grads, params, averages, squares = lists
    with at_full_precision(params, averages, squares) as (full_params, *full_averages):
        full = [full_precision(grads), full_params, *full_averages]
        updates = _directions(full, options, divisor, found_inf)
        lengths = torch.ones(len(params), device=params[0].device) * options.lr
        if options.use_nvlamb or options.weight_decay:
            lengths = lengths * _trust(norms(full_params)[1], norms(updates)[1])
        if found_inf is not None:
            lengths = torch.where(found_inf > 0, torch.zeros_like(lengths), lengths)
        torch._foreach_addcmul_(full_params, updates, list(lengths.unbind()), value=-1)


def _directions(
    lists: list[list[Tensor]], options: LAMB, divisor: Tensor | None, found_inf: Tensor | None
) -> list[Tensor]:
    """Update the averages, and return the parameters' updates except for their length."""
    grads, params, averages, squares = lists
    decay = options.weight_decay
    if decay and options.mode == L2:
        grads, divisor = list(torch._foreach_div(grads, divisor)), None  # type: ignore[arg-type]
        torch._foreach_add_(grads, params, alpha=decay)
    updates = [torch.zeros_like(average) for average in averages]
    share = 1 - options.beta1
    if not options.grad_averaging:  # as Adam averages gradients, and back
        torch._foreach_mul_(averages, share)
    adam.update((grads, updates, averages, squares), options.direction(), divisor, found_inf)
    if not options.grad_averaging:
        torch._foreach_div_(averages, share)
    if decay and options.mode != L2:
        torch._foreach_add_(updates, params, alpha=decay)
    return updates


def _trust(param_norms: Tensor, update_norms: Tensor) -> Tensor:
    """Return the ratio of each tensor's norms, or 1 if one is zero."""
    ratios = param_norms / update_norms
    usable = (param_norms != 0) & (update_norms != 0)
    return torch.where(usable, ratios, torch.ones_like(ratios))


def multi_tensor_lamb(chunk_size: int, noop_flag: Tensor, lists: Lists, *options: Any) -> None:
    """Update parameters and the averages of both orders; the lists are those of ``multi_tensor_adam``.

    Before the last option come the norm of all gradients, a float32 tensor of one element, and its maximum.
    """
    check(lists, 4, FLOAT_AND_HALF, "lamb_stage_1")
    update(lists, LAMB(*options[:9], *options[11:]), clipping(*options[9:11]))
