"""NovoGrad."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..kernels.original import initializer
from ..kernels.scaling import norms
from ..kernels.tensor_lists import at_full_precision, full_precision
from .fused_optimizer import FusedOptimizer, Group, gradients, next_step

SORTS = (torch.float16, torch.float32)
INSIDE_MOMENT, DECOUPLED = 0, 1
ORDERS = {0: math.inf, 2: 2.0}


class FusedNovoGrad(FusedOptimizer):
    """NovoGrad of float16 and float32, whose second moment is one number for each tensor.

    Args (the others are those of ``FusedLAMB``):
        reg_inside_moment: Whether gradients are normalised and decayed before they are averaged.
        norm_type: 2 for the Euclidean norm, 0 for the largest absolute value.
        init_zero: Whether norms start from zero instead of from those of the first gradients.

    Raises:
        RuntimeError: If ``amsgrad`` is requested.
    """

    @initializer(__name__)
    def __init__(self, reg_inside_moment: bool, **options: Any) -> None:
        super().__init__(**options)
        self.moment_mode = INSIDE_MOMENT if reg_inside_moment else DECOUPLED

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a state dict of this optimizer or of apex's; the norms move to the parameters' device."""
        super().load_state_dict(dict(state_dict))
        for group in self.param_groups:
            if group["params"] and "exp_avg_sq" in group:
                device = group["params"][0].device
                group["exp_avg_sq"] = [kept.to(device) for kept in group["exp_avg_sq"]]

    def _step(self, group: Group) -> None:
        sorts = self._by_dtype(group)
        if "exp_avg_sq" not in group:
            group["exp_avg_sq"] = [self._first_norms(group, sorts.get(dtype, [])) for dtype in SORTS]
        step = next_step(group)
        for dtype, kept in zip(SORTS, group["exp_avg_sq"], strict=True):
            params = sorts.get(dtype, [])
            assert len(params) == kept.numel()
            if params:
                _blend(kept, norms(gradients(params), ORDERS[group["norm_type"]])[1], group)
                with at_full_precision(params, self._kept(params, "exp_avg")) as (full, averages):
                    self._update(full, full_precision(gradients(params)), averages, kept, step, group)

    def _update(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        averages: list[Tensor],
        kept: Tensor,
        step: float,
        group: Group,
    ) -> None:
        (beta1, beta2), decay, lr = group["betas"], group["weight_decay"], group["lr"]
        step = step if group["bias_correction"] else math.inf
        denominators = (kept / math.sqrt(1 - beta2**step) + group["eps"]).unbind()
        if self.moment_mode == INSIDE_MOMENT:
            grads = list(torch._foreach_div(grads, denominators))
            torch._foreach_add_(grads, params, alpha=decay)
        torch._foreach_mul_(averages, beta1)
        torch._foreach_add_(averages, grads, alpha=1 - beta1 if group["grad_averaging"] else 1.0)
        updates = averages
        if self.moment_mode != INSIDE_MOMENT:
            updates = list(torch._foreach_div(averages, denominators))
            torch._foreach_mul_(params, 1 - lr * decay)
        torch._foreach_add_(params, updates, alpha=-lr / (1 - beta1**step))

    def _first_norms(self, group: Group, params: list[Tensor]) -> Tensor:
        if group["norm_type"] not in ORDERS:
            raise RuntimeError("FusedNovoGrad only support l2/inf norm now.")
        if group["init_zero"] or not params:
            return torch.zeros(len(params), device=self._device())
        return norms(gradients(params), ORDERS[group["norm_type"]])[1]


def _blend(kept: Tensor, new: Tensor, group: Group) -> None:
    weight = 1 - group["betas"][1]
    if group["norm_type"] == 0:
        kept.lerp_(new, weight)
    else:
        kept.square_().lerp_(new.square(), weight).sqrt_()
