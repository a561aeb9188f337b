"""The optimizer of amp's first interface, which scales its own losses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from ._amp_state import master_params as master_params
from ._amp_state import maybe_print as maybe_print
from .scaler import LossScaler as LossScaler


class OptimWrapper:
    """An optimizer that scales its losses, each with a scaler of its own.

    Args:
        optimizer: The optimizer.
        amp_handle: Says whether to scale at all.
        num_loss: How many losses there are in a step.
    """

    def __init__(self, optimizer: Any, amp_handle: Any, num_loss: int) -> None:
        self._optimizer = optimizer
        self._amp_handle = amp_handle
        self._num_loss = num_loss
        self._loss_idx = 0
        self._skip_next = [False] * num_loss
        self._loss_scaler = [LossScaler("dynamic") for _ in range(num_loss)]

    @contextlib.contextmanager
    def scale_loss(self, loss: Tensor) -> Iterator[Tensor]:
        """Scale the next loss for its backward pass, and its gradients back at the end of the block."""
        if not self._amp_handle.is_active():
            yield loss
            return
        params = list(master_params(self._optimizer))
        earlier = self._set_gradients_aside(params) if self._loss_idx > 0 else [None] * len(params)
        scaler = self._cur_loss_scaler()
        with self._amp_handle._disable_casts():
            yield loss * scaler.loss_scale()
        grads = [param.grad for param in params if param.grad is not None]
        scaler.clear_overflow_state()
        scaler.unscale(grads, grads, scaler.loss_scale())
        self._skip_next[self._loss_idx] = scaler.update_scale()
        self._loss_idx += 1
        for param, grad in zip(params, earlier, strict=True):
            if grad is not None:
                param.grad = grad if param.grad is None else param.grad.add_(grad)

    def _set_gradients_aside(self, params: list[Tensor]) -> list[Tensor | None]:
        grads = [param.grad for param in params]
        for param in params:
            param.grad = None
        return grads

    def _cur_loss_scaler(self) -> LossScaler:
        assert 0 <= self._loss_idx < self._num_loss
        return self._loss_scaler[self._loss_idx]

    def step(self, closure: Any = None) -> Any:
        """Update the parameters, unless a gradient was not finite.

        Raises:
            NotImplementedError: If there is a closure.
        """
        if not self._amp_handle.is_active():
            return self._optimizer.step(closure=closure)
        self._loss_idx = 0
        for param in master_params(self._optimizer):
            self._amp_handle.remove_cache(param)
        if closure is not None:
            raise NotImplementedError("The `closure` argument is unsupported by the amp optimizer wrapper.")
        if any(self._skip_next):
            maybe_print("Gradient overflow, skipping update")
            self._skip_next = [False] * self._num_loss
            return None
        with self._amp_handle._disable_casts():
            return self._optimizer.step()

    def __getattr__(self, attr: str) -> Any:
        return getattr(self.__dict__["_optimizer"], attr)

    def __repr__(self) -> str:
        return repr(self._optimizer)
