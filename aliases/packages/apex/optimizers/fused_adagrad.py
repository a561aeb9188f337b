"""Adagrad."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim.adagrad import adagrad  # torch.optim deletes the name of the module

from ..kernels.original import initializer
from ..kernels.tensor_lists import at_full_precision, full_precision, has_kernel, same_layout
from .fused_optimizer import FusedOptimizer, Group, gradients


class FusedAdagrad(FusedOptimizer):
    """``torch.optim.Adagrad`` of float16 and float32, without a decay of the learning rate.

    Args (the others are torch's):
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.
        adagrad_w_mode: Whether the weight decay is decoupled.
    """

    modes = ("set_grad_none", "adagrad_w_mode")
    adagrad_w_mode: int
    advice_on_sparse = ""

    @initializer(__name__)
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def _step(self, group: Group) -> None:
        for params in self._by_dtype(group).values():
            with at_full_precision(params, self._kept(params, "sum")) as (full_params, sums):
                self._update(full_params, full_precision(gradients(params)), sums, group)

    def _update(self, params: list[Tensor], grads: list[Tensor], sums: list[Tensor], group: Group) -> None:
        if self.adagrad_w_mode and group["weight_decay"]:
            # the update does not depend on the parameter, so the decay may be applied first
            torch._foreach_mul_(params, 1 - group["lr"] * group["weight_decay"])
        device = params[0].device
        fused = has_kernel("_fused_adagrad_", device.type) and same_layout([params, grads, sums])
        steps = list(torch.zeros(len(params), device=device if fused else "cpu").unbind())
        decay = 0.0 if self.adagrad_w_mode else group["weight_decay"]
        rates = {"lr": group["lr"], "lr_decay": 0.0, "eps": group["eps"], "weight_decay": decay}
        modes: dict[str, Any] = {"fused": fused, "foreach": not fused, "maximize": False}
        adagrad(params, grads, sums, steps, **modes, **rates)
