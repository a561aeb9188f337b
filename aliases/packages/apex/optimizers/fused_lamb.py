"""LAMB."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..kernels.lamb import LAMB, clipping, multi_tensor_lamb, update
from ..kernels.scaling import multi_tensor_l2norm, norms
from .fused_optimizer import FusedOptimizer, Group, gradients, next_step, refuse_amsgrad


class FusedLAMB(FusedOptimizer):
    """LAMB, which clips the gradients' global norm first.

    Args:
        params: Parameters, float16 or float32, or dicts that define parameter groups.
        lr: The learning rate.
        bias_correction: Whether the averages are corrected for their initial zeros.
        betas: The decays of the averages of gradients and of their squares.
        eps: Added to the denominator.
        weight_decay: The factor of the weight decay; without it, a tensor's norms are not used.
        amsgrad: Not supported.
        adam_w_mode: Whether the weight decay is decoupled.
        grad_averaging: Whether a gradient's weight in its average is ``1 - beta1`` instead of 1.
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.
        max_grad_norm: The maximum norm of all gradients.
        use_nvlamb: Whether tensors without weight decay are scaled by their norms too.

    Raises:
        RuntimeError: If ``amsgrad`` is requested.
    """

    multi_tensor_l2norm = staticmethod(multi_tensor_l2norm)
    multi_tensor_lamb = staticmethod(multi_tensor_lamb)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        adam_w_mode: bool = True,
        grad_averaging: bool = True,
        set_grad_none: bool = True,
        max_grad_norm: float = 1.0,
        use_nvlamb: bool = False,
    ) -> None:
        refuse_amsgrad("FusedLAMB", amsgrad)
        rates = {"lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps}
        rest = {"weight_decay": weight_decay, "grad_averaging": grad_averaging}
        super().__init__(params, {**rates, **rest, "max_grad_norm": max_grad_norm})
        self.adam_w_mode = 1 if adam_w_mode else 0
        self.set_grad_none = set_grad_none
        self.use_nvlamb = use_nvlamb
        self._dummy_overflow_buf = self._flag()

    def _step_all(self) -> None:
        sorted_groups = [(group, self._by_dtype(group)) for group in self.param_groups]
        divisor = self._divisor([params for _, sorts in sorted_groups for params in sorts.values()])
        for group, sorts in sorted_groups:
            options = options_of(group, group["lr"], next_step(group), self)
            for params in sorts.values():
                averages = self._kept(params, "exp_avg"), self._kept(params, "exp_avg_sq")
                update(gradients(params), params, *averages, options, divisor)

    def _divisor(self, sorts: list[list[Tensor]]) -> Tensor:
        device = self.param_groups[0]["params"][0].device
        parts = [norms(gradients(params))[0].to(device) for params in sorts]
        total = torch.linalg.vector_norm(torch.cat([torch.zeros(1, device=device), *parts]))
        return clipping(total, self.defaults["max_grad_norm"])


def options_of(group: Group, lr: Any, step: Any, optimizer: Any) -> LAMB:
    """Return the options of a group's update at a step."""
    names = "bias_correction", "weight_decay", "grad_averaging"
    rates = lr, *group["betas"], group["eps"], step, *map(group.get, names)
    values: list[Any] = [*rates, optimizer.adam_w_mode, optimizer.use_nvlamb]
    return LAMB(*values)
