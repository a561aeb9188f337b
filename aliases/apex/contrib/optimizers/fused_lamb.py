"""LAMB, as apex had it first."""

from __future__ import annotations

from typing import Any

from ... import optimizers


class FusedLAMB(optimizers.FusedLAMB):
    """LAMB, with the options that apex had first; else as ``apex.optimizers.FusedLAMB``.

    Args:
        params: Parameters, float16 or float32, or dicts that define groups of them.
        lr: The learning rate.
        bias_correction: Whether the averages are corrected for having started from zero.
        betas: The decays of the averages of gradients and of their squares.
        eps: Added to the denominator.
        weight_decay: The factor of the weight decay.
        amsgrad: Not supported.
        adam_w_mode: Whether the weight decay is decoupled.
        grad_averaging: Whether a gradient joins its average with the weight ``1 - betas[0]``, and not 1.
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.
        max_grad_norm: What the norm of all gradients is clipped to.

    Raises:
        RuntimeError: If ``amsgrad`` is asked for.
    """

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
        super().__init__(
            params,
            lr=lr,
            bias_correction=bias_correction,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            adam_w_mode=adam_w_mode,
            grad_averaging=grad_averaging,
            set_grad_none=set_grad_none,
            max_grad_norm=max_grad_norm,
        )
