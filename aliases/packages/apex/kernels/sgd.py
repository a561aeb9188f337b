"""The update of stochastic gradient descent with apex's options."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .adam import round_into
from .tensor_lists import (
    FLOATS,
    Lists,
    at_full_precision,
    check,
    full_precision,
    has_kernel,
    require,
    same_layout,
)


class SGD(NamedTuple):
    """The options of an update, like those of ``FusedSGD``.

    ``first_run``: whether the momenta start as the gradients; ``decay_after_momentum``: whether the decay is
    added to the update instead of the gradient; ``scale``: the initial factor of the gradients.
    """

    weight_decay: float
    momentum: float
    dampening: float
    lr: float
    nesterov: bool
    first_run: bool
    decay_after_momentum: bool
    scale: float


def update(lists: Lists, options: SGD, found_inf: Tensor | None = None) -> None:
    """Update parameters and momenta in place; low precision is computed in float32.

    Args:
        lists: Gradients, parameters and momenta, each of one dtype.
        options: The options.
        found_inf: Above 0 if nothing should be done; a float32 tensor of one element.
    """
    grads, params, momenta = lists
    with at_full_precision(params, momenta) as (full_params, full_momenta):
        full_grads = full_precision(grads)
        if options.scale != 1.0:
            full_grads = list(torch._foreach_mul(full_grads, options.scale))
        full, dtype = (full_params, full_grads, full_momenta), params[0].dtype
        fused = has_kernel("_fused_sgd_", params[0].device.type) and same_layout(full)
        simple = not (options.decay_after_momentum and options.weight_decay)
        if fused and simple and dtype == torch.float32:
            _apply_fused(*full, options, found_inf)
        elif found_inf is None or not found_inf:
            _apply_foreach(*full, options, dtype)


def _apply_fused(
    params: list[Tensor], grads: list[Tensor], momenta: list[Tensor], options: SGD, found_inf: Tensor | None
) -> None:
    rates: dict[str, Any] = {name: getattr(options, name) for name in ("weight_decay", "momentum", "lr")}
    modes: dict[str, Any] = {"nesterov": options.nesterov and options.momentum != 0, "maximize": False}
    rest: dict[str, Any] = {"dampening": options.dampening, "is_first_step": options.first_run}
    kept = momenta if options.momentum else []
    torch._fused_sgd_(params, grads, kept, **rates, **modes, **rest, found_inf=found_inf)


def _apply_foreach(
    params: list[Tensor], grads: list[Tensor], momenta: list[Tensor], options: SGD, dtype: torch.dtype
) -> None:
    decay, steps = options.weight_decay, grads
    if decay and not options.decay_after_momentum:
        steps = list(torch._foreach_add(grads, params, alpha=decay))
    if options.momentum:
        steps = _with_momentum(steps, momenta, options)
    if decay and options.decay_after_momentum:
        steps = list(torch._foreach_add(steps, params, alpha=decay))
    if dtype == torch.float32:
        torch._foreach_add_(params, steps, alpha=-options.lr)
        return
    # apex's kernel rounds the update to the parameters' dtype
    changes = [each.to(dtype) for each in torch._foreach_mul(steps, -options.lr)]
    torch._foreach_add_(params, changes)


def _with_momentum(grads: list[Tensor], momenta: list[Tensor], options: SGD) -> list[Tensor]:
    if options.first_run:
        torch._foreach_copy_(momenta, grads)
    else:
        torch._foreach_mul_(momenta, options.momentum)
        torch._foreach_add_(momenta, grads, alpha=1 - options.dampening)
    if options.nesterov:
        return list(torch._foreach_add(grads, momenta, alpha=options.momentum))
    return momenta


def multi_tensor_sgd(chunk_size: int, noop_flag: Tensor, lists: Lists, *options: Any) -> None:
    """Update parameters and momenta, and the float16 copies of the parameters if there are any.

    The lists are gradients, parameters, momenta and, optionally, copies. If ``noop_flag`` is not 0, nothing
    is done.
    """
    copies = lists[3] if len(lists) == 4 else []
    half = all(tensor.dtype == torch.float16 for tensor in copies)
    require(half, "Additional output tensors should always be fp16.")
    check(lists, 4 if copies else 3, FLOATS, "sgd")
    skipped = (noop_flag != 0).float()
    update(lists[:3], SGD(*options), skipped)
    if copies:
        round_into(copies, lists[1], skipped)
