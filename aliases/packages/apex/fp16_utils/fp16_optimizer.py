"""An optimizer wrapper that maintains float32 masters and scales losses."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..kernels.loss_scaler import LossScaler as LossScaler
from .fp16util import clip_grad_norm as clip_grad_norm
from .fp16util import drop_gradients, with_masters
from .fp16util import master_params_to_model_params as master_params_to_model_params

SCALING = ("loss_scaler", "dynamic_loss_scale", "overflow")


class FP16_Optimizer:
    """An optimizer of a float16 model that updates float32 masters.

    All other attributes are the optimizer's.

    Args:
        init_optimizer: The optimizer of the model's parameters; it replaces those in float16.
        static_loss_scale: The factor of losses, unless it is dynamic.
        dynamic_loss_args: Arguments for ``apex.amp.scaler.LossScaler``.
        verbose: Whether to print a message when a step is skipped.

    Raises:
        TypeError: If a parameter is neither float16 nor float32 on the device.
    """

    def __init__(
        self,
        init_optimizer: Any,
        static_loss_scale: float = 1.0,
        dynamic_loss_scale: bool = False,
        dynamic_loss_args: dict[str, Any] | None = None,
        verbose: bool = True,
    ) -> None:
        self.verbose = verbose
        self.optimizer = init_optimizer
        sorts = [with_masters(group["params"], init_optimizer.state) for group in init_optimizer.param_groups]
        self.fp16_groups, self.fp32_from_fp16_groups, self.fp32_from_fp32_groups = (
            [sort[place] for sort in sorts] for place in range(3)
        )
        self.all_fp16_params = sum(self.fp16_groups, [])
        self.all_fp32_from_fp16_params = sum(self.fp32_from_fp16_groups, [])
        self.all_fp32_from_fp32_params = sum(self.fp32_from_fp32_groups, [])
        self.optimizer.load_state_dict(self.optimizer.state_dict())
        self.dynamic_loss_scale = dynamic_loss_scale
        scale = "dynamic" if dynamic_loss_scale else static_loss_scale
        self.loss_scaler = LossScaler(scale, **(dynamic_loss_args or {} if dynamic_loss_scale else {}))
        self.overflow = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__.get("optimizer"), name)

    def _masters(self) -> list[Tensor]:
        return [param for group in self.optimizer.param_groups for param in group["params"]]

    def zero_grad(self, set_grads_to_None: bool = False) -> None:
        """Set the gradients of the model and of the masters to zero, or to None."""
        drop_gradients([*self._masters(), *self.all_fp16_params], set_grads_to_None)

    def clip_master_grads(self, max_norm: float, norm_type: float = 2) -> Any:
        """Clip the norm of the masters' gradients; return the norm before, or -1 after an overflow."""
        return -1 if self.overflow else clip_grad_norm(self._masters(), max_norm, norm_type)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the scaler and of the optimizer, and the masters."""
        scaling = {name: getattr(self, name) for name in SCALING}
        states = {"optimizer_state_dict": self.optimizer.state_dict()}
        return {**scaling, **states, "fp32_from_fp16": self.fp32_from_fp16_groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of ``state_dict``; the model's parameters are loaded separately, and before."""
        for name in SCALING:
            setattr(self, name, state_dict[name])
        self.optimizer.load_state_dict(state_dict["optimizer_state_dict"])
        for own, saved in zip(self.fp32_from_fp16_groups, state_dict["fp32_from_fp16"], strict=True):
            for master, value in zip(own, saved, strict=True):
                master.data.copy_(value.data)

    def step(self) -> Any:
        """Update masters and model unless the gradients overflowed."""
        if self.overflow:
            if self.verbose:
                print(f"Gradient overflow.  Skipping step, reducing loss scale to {self.loss_scale}")
            return None
        result = self.optimizer.step()
        master_params_to_model_params(self.all_fp16_params, self.all_fp32_from_fp16_params)
        return result

    def backward(self, loss: Tensor, update_master_grads: bool = True, retain_graph: bool = False) -> None:
        """Run the backward pass of the scaled loss, and ``update_master_grads()`` unless that is false."""
        scaled_loss: Any = loss.float() * self.loss_scaler.loss_scale()
        scaled_loss.backward(retain_graph=retain_graph)
        if update_master_grads:
            self.update_master_grads()

    def update_master_grads(self) -> None:
        """Unscale the model's gradients into the masters', and check for overflows."""
        self.loss_scaler.clear_overflow_state()
        grads, targets = [], []
        for model, master in zip(self.all_fp16_params, self.all_fp32_from_fp16_params, strict=True):
            if model.grad is not None:
                master.grad = torch.empty_like(master)
                grads.append(model.grad)
                targets.append(master.grad)
        singles = [param.grad for param in self.all_fp32_from_fp32_params if param.grad is not None]
        self.loss_scaler.unscale(grads, targets, None)
        self.loss_scaler.unscale(singles, singles, None)
        self.overflow = self.loss_scaler.update_scale()

    @property
    def loss_scale(self) -> float:
        """The loss scale."""
        return self.loss_scaler.loss_scale()

    @loss_scale.setter
    def loss_scale(self, value: float) -> None:
        self.loss_scaler._loss_scale = value
