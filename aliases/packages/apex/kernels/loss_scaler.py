"""The scaling of losses and unscaling of gradients."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .scaling import add_scaled, scale_into


class LossScaler:
    """The factor of one loss, so that its gradients do not vanish in float16.

    Args:
        loss_scale: A constant factor, or ``"dynamic"``: halved after gradients that are not finite, doubled
            after ``scale_window`` steps without any, as apex does whatever ``scale_factor`` is.
        init_scale: The initial dynamic factor; ``min_loss_scale`` and ``max_loss_scale`` are its bounds.
    """

    def __init__(
        self,
        loss_scale: float | str,
        init_scale: float = 2.0**16,
        scale_factor: float = 2.0,
        scale_window: int = 2000,
        min_loss_scale: float | None = None,
        max_loss_scale: float = 2.0**24,
    ) -> None:
        self.dynamic = loss_scale == "dynamic"
        self._loss_scale = min(max_loss_scale, init_scale) if self.dynamic else float(loss_scale)
        self._max_loss_scale = max_loss_scale
        self._min_loss_scale = min_loss_scale
        self._scale_seq_len = scale_window
        self._unskipped = 0
        self._has_overflow = False
        self._overflow_buf = torch.zeros(1, dtype=torch.int, device="cuda")

    def loss_scale(self) -> float:
        """Return the factor."""
        return self._loss_scale

    def unscale(
        self,
        model_grads: Sequence[Tensor],
        master_grads: Sequence[Tensor],
        unused_scale: float | None,
        models_are_masters: bool = False,
        scale_override: float | None = None,
    ) -> None:
        """Write the gradients of the model, divided by the factor, to those of the masters.

        They may be the same tensors. ``unused_scale`` is ignored; ``scale_override`` is another divisor.
        """
        scale = self._loss_scale if scale_override is None else scale_override
        needless = scale == 1.0 and models_are_masters and not self.dynamic
        if model_grads and not needless:
            scale_into(model_grads, master_grads, 1.0 / scale, self._overflow_buf)

    def unscale_with_stashed(
        self, model_grads: Sequence[Tensor], stashed: Sequence[Tensor], master_grads: Sequence[Tensor]
    ) -> None:
        """Write the sum of the model's gradients, divided by the factor, and earlier ones to the masters'."""
        if model_grads:
            factors = 1.0 / self._loss_scale, 1.0
            add_scaled(model_grads, stashed, master_grads, *factors, self._overflow_buf, model_grads)

    def clear_overflow_state(self) -> None:
        """Reset the overflow flag."""
        self._has_overflow = False
        self._overflow_buf.zero_()

    def update_scale(self) -> bool:
        """Adapt a dynamic factor, and return whether there was an overflow; waits for the device."""
        self._unskipped += 1
        if not self.dynamic:
            return False
        self._has_overflow = bool(self._overflow_buf.item())
        if self._has_overflow:
            self._loss_scale = max(self._min_loss_scale or 0.0, self._loss_scale / 2.0)
            self._unskipped = 0
        elif self._unskipped == self._scale_seq_len:
            self._loss_scale = min(self._max_loss_scale, self._loss_scale * 2.0)
            self._unskipped = 0
        return self._has_overflow
