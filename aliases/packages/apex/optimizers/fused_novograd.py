"""NovoGrad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..kernels.novograd import ORDERS, NovoGrad, multi_tensor_novograd, update
from ..kernels.scaling import norms
from .fused_optimizer import FusedOptimizer, Group, gradients, next_step, refuse_amsgrad

SORTS = (torch.float16, torch.float32)


class FusedNovoGrad(FusedOptimizer):
    """NovoGrad, whose second moment is one number for each tensor.

    Args:
        params: Parameters, float16 or float32, or dicts that define parameter groups.
        lr: The learning rate.
        bias_correction: Whether averages and norms are corrected for their initial zeros.
        betas: The decays of the averages of gradients and of the norms.
        eps: Added to the norms.
        weight_decay: The factor of the weight decay.
        amsgrad: Not supported.
        reg_inside_moment: Whether gradients are normalised and decayed before they are averaged.
        grad_averaging: Whether a gradient's weight in its average is ``1 - beta1`` instead of 1.
        norm_type: 2 for the Euclidean norm, 0 for the largest absolute value.
        init_zero: Whether norms start from zero instead of from those of the first gradients.
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.

    Raises:
        RuntimeError: If ``amsgrad`` is requested.
    """

    multi_tensor_novograd = staticmethod(multi_tensor_novograd)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        reg_inside_moment: bool = False,
        grad_averaging: bool = True,
        norm_type: int = 2,
        init_zero: bool = False,
        set_grad_none: bool = True,
    ) -> None:
        refuse_amsgrad("FusedNovoGrad", amsgrad)
        defaults = {
            **{"lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps},
            **{"weight_decay": weight_decay, "grad_averaging": grad_averaging},
            **{"norm_type": norm_type, "init_zero": init_zero},
        }
        super().__init__(params, defaults)
        self.moment_mode = 0 if reg_inside_moment else 1
        self.set_grad_none = set_grad_none
        self._dummy_overflow_buf = self._flag()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a state dict of this optimizer or of apex's; the norms move to the parameters' device."""
        super().load_state_dict(dict(state_dict))
        for group in self.param_groups:
            if group["params"] and "exp_avg_sq" in group:
                device = group["params"][0].device
                group["exp_avg_sq"] = [kept.to(device) for kept in group["exp_avg_sq"]]

    def _step(self, group: Group) -> None:
        step = next_step(group)
        sorts = self._by_dtype(group)
        if "exp_avg_sq" not in group:
            group["exp_avg_sq"] = [self._first_norms(group, sorts.get(dtype, [])) for dtype in SORTS]
        names = "bias_correction", "weight_decay", "grad_averaging"
        rates = group["lr"], *group["betas"], group["eps"], step, *map(group.get, names)
        values: list[Any] = [*rates, self.moment_mode, group["norm_type"]]
        options = NovoGrad(*values)
        for dtype, kept in zip(SORTS, group["exp_avg_sq"], strict=True):
            params = sorts.get(dtype, [])
            assert len(params) == kept.numel()
            if params:
                update(gradients(params), params, self._kept(params, "exp_avg"), kept, options)

    def _first_norms(self, group: Group, params: list[Tensor]) -> Tensor:
        if group["norm_type"] not in ORDERS:
            raise RuntimeError("FusedNovoGrad only support l2/inf norm now.")
        if group["init_zero"] or not params:
            return torch.zeros(len(params), device=self.param_groups[0]["params"][0].device)
        return norms(gradients(params), ORDERS[group["norm_type"]])[1]
