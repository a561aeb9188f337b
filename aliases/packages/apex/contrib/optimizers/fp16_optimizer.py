"""A wrapper of ``apex.contrib.optimizers`` that maintains float32 masters and scales losses."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...fp16_utils.fp16_optimizer import Wrapper, drop_gradients
from ...kernels.scaling import norms

SCALE_STATE = ("last_overflow_iter", "scale_factor", "scale_window")


class FP16_Optimizer(Wrapper):
    """An optimizer of a float16 model that updates float32 masters, like the one in ``fp16_utils``.

    The inner optimizer is one of ``apex.contrib.optimizers``, and all of its parameters become masters.

    Raises:
        SystemError: If there are ``dynamic_loss_args``.
    """

    def __init__(
        self,
        init_optimizer: Any,
        static_loss_scale: float = 1.0,
        dynamic_loss_scale: bool = False,
        dynamic_loss_args: dict[str, Any] | None = None,
        verbose: bool = True,
    ) -> None:
        if dynamic_loss_scale and dynamic_loss_args is not None:
            raise SystemError("Do not support dynamic loss scale args for now.")
        self.optimizer = init_optimizer
        self.fp16_groups: list[list[Tensor]] = []
        self.fp32_groups: list[list[Tensor]] = []
        for group in self.optimizer.param_groups:
            self.fp16_groups.append(list(group["params"]))
            group["params"] = [param.detach().clone().float() for param in group["params"]]
            self.fp32_groups.append(group["params"])
        self.dynamic_loss_scale = dynamic_loss_scale
        self.cur_scale = 2**16 if dynamic_loss_scale else static_loss_scale
        self.cur_iter = 0
        self.last_overflow_iter = -1
        self.scale_factor = 2
        self.scale_window = 1000
        self.verbose = verbose

    def zero_grad(self, set_grads_to_None: bool = True) -> None:
        """Set the gradients of the model to None, or to zero."""
        drop_gradients(sum(self.fp16_groups, []), set_grads_to_None)

    def step(self, closure: Any = None) -> None:
        """Update masters and model unless a gradient is not finite; waits for the device.

        Args:
            closure: Not called.
        """
        grads = [[param.grad for param in group] for group in self.fp16_groups]
        totals = [norms(group)[0] for group in grads if group]  # type: ignore[arg-type]
        skip = not all(bool(total.isfinite()) for total in totals)
        if not skip:
            given = {"grads": grads, "output_params": self.fp16_groups, "grad_norms": totals}
            self.optimizer.step(scale=self.cur_scale, **given)
        self._update_scale(skip)

    def backward(self, loss: Tensor) -> None:
        """Do the backward pass of the scaled loss."""
        scaled_loss: Any = loss.float() * self.cur_scale
        scaled_loss.backward()

    def _update_scale(self, skip: bool) -> None:
        if skip and (self.verbose or not self.dynamic_loss_scale):
            kind = "dynamic" if self.dynamic_loss_scale else "static"
            print(f"\nGrad overflow on iteration {self.cur_iter}")
            print(f"Using {kind} loss scale of {self.cur_scale}")
        if self.dynamic_loss_scale:
            if skip:
                self.cur_scale = max(self.cur_scale / self.scale_factor, 1)
                self.last_overflow_iter = self.cur_iter
            elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
                self.cur_scale *= self.scale_factor
        self.cur_iter += 1

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the scale and of the inner optimizer, and the masters."""
        names = ["dynamic_loss_scale", "cur_scale", "cur_iter", *SCALE_STATE[: 3 * self.dynamic_loss_scale]]
        state = {name: getattr(self, name) for name in names}
        return {**state, "optimizer_state_dict": self.optimizer.state_dict(), "fp32_groups": self.fp32_groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of ``state_dict``; the model's parameters are loaded separately."""
        for name in ("dynamic_loss_scale", "cur_scale", "cur_iter", *SCALE_STATE):
            if name in state_dict:
                setattr(self, name, state_dict[name])
        self.optimizer.load_state_dict(state_dict["optimizer_state_dict"])
        with torch.no_grad():
            for own, saved in zip(self.fp32_groups, state_dict["fp32_groups"], strict=True):
                for master, value in zip(own, saved, strict=True):
                    master.copy_(value)
