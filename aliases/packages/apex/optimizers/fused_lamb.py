"""LAMB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..kernels.lamb import LAMB, clipping, update
from ..kernels.original import initializer
from ..kernels.scaling import norms
from .fused_optimizer import FusedOptimizer, Group, gradients, next_step


class FusedLAMB(FusedOptimizer):
    """LAMB of float16 and float32, which clips the gradients' global norm first.

    Args (the others are those of ``FusedAdam``):
        grad_averaging: Whether a gradient's weight in its average is ``1 - beta1`` instead of 1.
        max_grad_norm: The maximum norm of all gradients.
        use_nvlamb: Whether tensors without weight decay are scaled by their norms too.

    Raises:
        RuntimeError: If ``amsgrad`` is requested.
    """

    modes = ("set_grad_none", "adam_w_mode", "use_nvlamb")

    @initializer(__name__)
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def _step_all(self) -> None:
        sorted_groups = [(group, self._by_dtype(group)) for group in self.param_groups]
        everything = [params for _, sorts in sorted_groups for params in sorts.values()]
        divisor = clipping(global_norm(everything, self._device()), self.defaults["max_grad_norm"])
        for group, sorts in sorted_groups:
            options = options_of(group, group["lr"], next_step(group), self)
            for params in sorts.values():
                update((gradients(params), params, *self._averages(params)), options, divisor)


def global_norm(sorts: Sequence[Sequence[Tensor]], device: torch.device) -> Tensor:
    """Return the norm of the gradients of lists of parameters, of shape (1,)."""
    parts = [norms(gradients(params))[0].to(device) for params in sorts]
    total: Tensor = torch.linalg.vector_norm(torch.cat([torch.zeros(1, device=device), *parts]))
    return total.reshape(1)


def options_of(group: Group, lr: Any, step: Any, optimizer: Any) -> LAMB:
    """Return the options of a group's update at a step."""
    rest = group["bias_correction"], group["weight_decay"], group["grad_averaging"]
    modes = optimizer.adam_w_mode, optimizer.use_nvlamb
    values: list[Any] = [lr, *group["betas"], group["eps"], step, *rest, *modes]
    return LAMB(*values)
