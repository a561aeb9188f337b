"""LAMB."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..kernels.adam import Adam
from ..kernels.lamb import LAMB, clipping, update
from ..kernels.lamb_operations import multi_tensor_lamb
from ..kernels.scaling import multi_tensor_l2norm, norms
from .fused_optimizer import Closure, FusedOptimizer, Group, evaluated, gradients, next_step


class FusedLAMB(FusedOptimizer):
    """LAMB, which clips the gradients' global norm first.

    Args:
        params: Parameters, float16 or float32, or dicts that define groups of them.
        lr: The learning rate.
        bias_correction: Whether the averages are corrected for having started from zero.
        betas: The decays of the averages of gradients and of their squares.
        eps: Added to the denominator.
        weight_decay: The factor of the weight decay; without it, a tensor's norms do not count.
        amsgrad: Not supported.
        adam_w_mode: Whether the weight decay is decoupled.
        grad_averaging: Whether a gradient joins its average with the weight ``1 - beta1``, and not 1.
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.
        max_grad_norm: What the norm of all gradients is clipped to.
        use_nvlamb: Whether tensors without weight decay are scaled by their norms too.

    Raises:
        RuntimeError: If ``amsgrad`` is asked for.
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
        if amsgrad:
            raise RuntimeError("FusedLAMB does not support the AMSGrad variant.")
        defaults = {
            "lr": lr,
            "bias_correction": bias_correction,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "grad_averaging": grad_averaging,
            "max_grad_norm": max_grad_norm,
        }
        super().__init__(params, defaults)
        self.adam_w_mode = 1 if adam_w_mode else 0
        self.set_grad_none = set_grad_none
        self.use_nvlamb = use_nvlamb
        device = self.param_groups[0]["params"][0].device
        self._dummy_overflow_buf = torch.zeros(1, dtype=torch.int, device=device)

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters.

        Args:
            closure: Evaluates the model again, and returns the loss.

        Returns:
            The loss, if there is a closure.

        Raises:
            RuntimeError: If a gradient is sparse, or a parameter is not supported.
        """
        loss = evaluated(closure)
        with torch.no_grad():
            sorted_groups = [(group, self._by_dtype(group)) for group in self.param_groups]
            divisor = self._divisor([params for _, sorts in sorted_groups for params in sorts.values()])
            for group, sorts in sorted_groups:
                options = self._options(group, next_step(group))
                for params in sorts.values():
                    averages = self._kept(params, "exp_avg"), self._kept(params, "exp_avg_sq")
                    update(gradients(params), params, *averages, options, divisor)
        return loss

    def _divisor(self, sorts: list[list[Tensor]]) -> Tensor:
        device = self.param_groups[0]["params"][0].device
        parts = [norms(gradients(params))[0].to(device) for params in sorts]
        total = torch.linalg.vector_norm(torch.cat([torch.zeros(1, device=device), *parts]))
        return clipping(total, self.defaults["max_grad_norm"])

    def _options(self, group: Group, step: int) -> LAMB:
        betas: tuple[float, float] = group["betas"]
        adam = Adam(
            group["lr"],
            *betas,
            group["eps"],
            step,
            self.adam_w_mode,
            group["bias_correction"],
            0.0,
        )
        return LAMB(adam, group["weight_decay"], group["grad_averaging"], self.use_nvlamb)
