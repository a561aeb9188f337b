"""LAMB, in apex's first version."""

from __future__ import annotations

from typing import Any

from ... import optimizers


class FusedLAMB(optimizers.FusedLAMB):
    """LAMB with those options of ``apex.optimizers.FusedLAMB`` that the first version had."""

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
    ) -> None:
        modes = amsgrad, adam_w_mode, grad_averaging, set_grad_none
        super().__init__(params, lr, bias_correction, betas, eps, weight_decay, *modes, max_grad_norm)
