"""Adagrad."""

from __future__ import annotations

from typing import Any

import torch

from ..kernels.adagrad import multi_tensor_adagrad, update
from .fused_optimizer import FusedOptimizer, Group, gradients


class FusedAdagrad(FusedOptimizer):
    """Adagrad with L2 regularisation, or with decoupled weight decay.

    Args:
        params: Parameters, float16 or float32, or dicts that define parameter groups.
        lr: The learning rate.
        eps: Added to the denominator.
        weight_decay: The factor of the weight decay.
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.
        adagrad_w_mode: Whether the weight decay is decoupled.
    """

    advice_on_sparse = ""
    multi_tensor_adagrad = staticmethod(multi_tensor_adagrad)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
        set_grad_none: bool = True,
        adagrad_w_mode: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": weight_decay})
        self.adagrad_w_mode = 1 if adagrad_w_mode else 0
        self.set_grad_none = set_grad_none
        self._dummy_overflow_buf = torch.zeros(1, dtype=torch.int, device="cuda")

    def _step(self, group: Group) -> None:
        rates = group["lr"], group["eps"], self.adagrad_w_mode, group["weight_decay"]
        for params in self._by_dtype(group).values():
            update(gradients(params), params, self._kept(params, "sum"), *rates)
