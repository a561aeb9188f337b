"""Loss scalers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from .fp16util import to_python_float as to_python_float


class _Scaler:
    """What both scalers do: multiply."""

    cur_scale: float

    @property
    def loss_scale(self) -> float:
        """The factor."""
        return self.cur_scale

    def scale_gradient(self, module: Any, grad_in: Iterable[Tensor], grad_out: Any) -> tuple[Tensor, ...]:
        """Return scaled gradients; a backward hook of a module."""
        return tuple(self.loss_scale * grad for grad in grad_in)

    def backward(self, loss: Tensor, retain_graph: bool = False) -> None:
        """Do the backward pass of the scaled loss."""
        scaled_loss: Any = loss * self.loss_scale
        scaled_loss.backward(retain_graph=retain_graph)


class LossScaler(_Scaler):
    """Multiplies a loss by a factor that stays as it is.

    Args:
        scale: The factor.
    """

    def __init__(self, scale: float = 1) -> None:
        self.cur_scale = scale

    def has_overflow(self, params: Iterable[Tensor]) -> bool:
        """Return False: it is not looked for."""
        return False

    def update_scale(self, overflow: bool) -> None:
        """Leave the factor as it is."""


class DynamicLossScaler(_Scaler):
    """Multiplies a loss by a factor that shrinks after gradients that are not finite, and grows without.

    Args:
        init_scale: What the factor starts from.
        scale_factor: What it is divided and multiplied by.
        scale_window: After how many steps without an overflow it grows.
    """

    def __init__(
        self, init_scale: float = 2**32, scale_factor: float = 2.0, scale_window: int = 1000
    ) -> None:
        self.cur_scale = init_scale
        self.cur_iter = 0
        self.last_overflow_iter = -1
        self.scale_factor = scale_factor
        self.scale_window = scale_window

    def has_overflow(self, params: Iterable[Tensor]) -> bool:
        """Tell whether the gradients of ``params`` hold an infinity or a NaN; waits for the device."""
        return any(self._has_inf_or_nan(param.grad) for param in params if param.grad is not None)

    @staticmethod
    def _has_inf_or_nan(x: Tensor) -> bool:
        return not math.isfinite(float(x.detach().float().sum()))

    def update_scale(self, overflow: bool) -> None:
        """Adapt the factor to whether this step had an overflow."""
        if overflow:
            self.cur_scale = max(self.cur_scale / self.scale_factor, 1)
            self.last_overflow_iter = self.cur_iter
        elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
            self.cur_scale *= self.scale_factor
        self.cur_iter += 1
