"""An optimizer wrapper that maintains float32 masters and scales losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from ..amp._amp_state import maybe_print as maybe_print
from ..amp.scaler import LossScaler as LossScaler
from ..amp.stash import sorted_with_masters
from ..multi_tensor_apply import multi_tensor_applier as multi_tensor_applier
from ..optimizers.fused_optimizer import gradients
from .fp16util import clip_grad_norm as clip_grad_norm
from .fp16util import master_params_to_model_params as master_params_to_model_params
from .fp16util import model_grads_to_master_grads as model_grads_to_master_grads

SCALING = ("loss_scaler", "dynamic_loss_scale", "overflow", "first_closure_call_this_step")


class Wrapper:
    """A wrapper of an optimizer that exposes its state and parameter groups."""

    optimizer: Any

    @property
    def state(self) -> Any:
        """The inner optimizer's state."""
        return self.optimizer.state

    @state.setter
    def state(self, value: Any) -> None:
        self.optimizer.state = value

    @property
    def param_groups(self) -> Any:
        """The inner optimizer's parameter groups."""
        return self.optimizer.param_groups

    @param_groups.setter
    def param_groups(self, value: Any) -> None:
        self.optimizer.param_groups = value


def drop_gradients(params: Iterable[Tensor], to_none: bool) -> None:
    """Set gradients to None, or to zero."""
    for param in params:
        if to_none:
            param.grad = None
        elif param.grad is not None:
            param.grad = param.grad.detach_().zero_()


class FP16_Optimizer(Wrapper):
    """An optimizer of a float16 model that updates float32 masters.

    Args:
        init_optimizer: The optimizer of the model's parameters; it replaces those in float16.
        static_loss_scale: The factor of losses.
        dynamic_loss_scale: Whether the factor is dynamic instead.
        dynamic_loss_args: Arguments for ``apex.amp.scaler.LossScaler``.
        verbose: Whether to print messages.

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
        self.fp16_groups: list[list[Tensor]] = []
        self.fp32_from_fp16_groups: list[list[Tensor]] = []
        self.fp32_from_fp32_groups: list[list[Tensor]] = []
        for index, group in enumerate(self.optimizer.param_groups):
            self.maybe_print(f"FP16_Optimizer processing param group {index}:")
            self._add_masters(group["params"])
        self.all_fp16_params = sum(self.fp16_groups, [])
        self.all_fp32_from_fp16_params = sum(self.fp32_from_fp16_groups, [])
        self.all_fp32_from_fp32_params = sum(self.fp32_from_fp32_groups, [])
        self.optimizer.load_state_dict(self.optimizer.state_dict())
        self.dynamic_loss_scale = dynamic_loss_scale
        scale = "dynamic" if dynamic_loss_scale else static_loss_scale
        options = dynamic_loss_args if dynamic_loss_scale and dynamic_loss_args else {}
        self.loss_scaler = LossScaler(scale, **options)
        self.overflow = False
        self.first_closure_call_this_step = True
        self.clip_grad_norm = clip_grad_norm

    def _add_masters(self, params: list[Tensor]) -> None:
        halves, masters, singles = sorted_with_masters(params, self.optimizer.state)
        for param in [*halves, *singles]:
            self.maybe_print(f"FP16_Optimizer received {param.type()} with {param.size()}")
        self.fp16_groups.append(halves)
        self.fp32_from_fp16_groups.append(masters)
        self.fp32_from_fp32_groups.append(singles)

    def maybe_print(self, msg: str) -> None:
        """Print ``msg`` if the optimizer is verbose."""
        if self.verbose:
            print(msg)

    def __getstate__(self) -> Any:
        raise RuntimeError("FP16_Optimizer should be serialized using state_dict().")

    def __setstate__(self, state: Any) -> None:
        raise RuntimeError("FP16_Optimizer should be deserialized using load_state_dict().")

    def zero_grad(self, set_grads_to_None: bool = False) -> None:
        """Set the gradients of the model and of the masters to zero, or to None."""
        masters = [param for group in self.optimizer.param_groups for param in group["params"]]
        drop_gradients([*masters, *self.all_fp16_params], set_grads_to_None)

    def _master_params_to_model_params(self) -> None:
        master_params_to_model_params(self.all_fp16_params, self.all_fp32_from_fp16_params)

    def clip_master_grads(self, max_norm: float, norm_type: float = 2) -> Any:
        """Clip the norm of the masters' gradients.

        Returns:
            The norm before clipping; -1 after an overflow.
        """
        if self.overflow:
            return -1
        masters = [param for group in self.optimizer.param_groups for param in group["params"]]
        return self.clip_grad_norm(masters, max_norm, norm_type)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the scaler and of the optimizer, and the masters."""
        return {
            **{name: getattr(self, name) for name in SCALING},
            "optimizer_state_dict": self.optimizer.state_dict(),
            "fp32_from_fp16": self.fp32_from_fp16_groups,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of ``state_dict``; the model's parameters are loaded separately, and before."""
        for name in SCALING:
            setattr(self, name, state_dict[name])
        self.optimizer.load_state_dict(state_dict["optimizer_state_dict"])
        for own, saved in zip(self.fp32_from_fp16_groups, state_dict["fp32_from_fp16"], strict=True):
            for master, value in zip(own, saved, strict=True):
                master.data.copy_(value.data)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update masters and model unless the gradients overflowed.

        Args:
            closure: Runs the backward pass with this optimizer's ``backward``, and returns the loss.

        Returns:
            The result of the inner optimizer.
        """
        if self.overflow:
            scale = self.loss_scaler.loss_scale()
            maybe_print(f"Gradient overflow.  Skipping step, reducing loss scale to {scale}")
            return None
        result = self.optimizer.step() if closure is None else self._step_with_closure(closure)
        self._master_params_to_model_params()
        return result

    def _step_with_closure(self, closure: Callable[[], Any]) -> Any:
        def wrapped_closure() -> Any:
            if self.first_closure_call_this_step:
                self.first_closure_call_this_step = False
            else:  # the inner optimizer may have changed the masters since
                self._master_params_to_model_params()
            loss = closure()
            while self.overflow:
                scale = self.loss_scaler.loss_scale()
                print(f"OVERFLOW within closure! Skipping step, reducing loss scale to {scale}")
                loss = closure()
            return loss

        result = self.optimizer.step(wrapped_closure)
        self.first_closure_call_this_step = True
        return result

    def backward(self, loss: Tensor, update_master_grads: bool = True, retain_graph: bool = False) -> None:
        """Run the backward pass of the scaled loss.

        Args:
            loss: The loss.
            update_master_grads: Whether to unscale the gradients into the masters' now; if not, call the
                method of this name after more gradients are added.
            retain_graph: As for ``Tensor.backward``.
        """
        scaled_loss: Any = loss.float() * self.loss_scaler.loss_scale()
        scaled_loss.backward(retain_graph=retain_graph)
        if update_master_grads:
            self.update_master_grads()

    def update_master_grads(self) -> None:
        """Unscale the model's gradients into the masters', and check for overflows."""
        self.loss_scaler.clear_overflow_state()
        pairs = zip(self.all_fp16_params, self.all_fp32_from_fp16_params, strict=True)
        masters = [master for model, master in pairs if model.grad is not None]
        for master in masters:
            if master.grad is None:
                master.grad = torch.empty_like(master)
        self.loss_scaler.unscale(gradients(self.all_fp16_params), gradients(masters), None)
        singles = gradients(self.all_fp32_from_fp32_params)
        self.loss_scaler.unscale(singles, singles, None)
        self.overflow = self.loss_scaler.update_scale()

    def inspect_master_grad_data(self) -> list[list[Tensor | None]] | None:
        """Return the masters' gradients by group; None after an overflow, when they are meaningless."""
        if self.overflow:
            print("Warning:  the gradients are invalid after an overflow.  Returning None.")
            return None
        return [
            [None if param.grad is None else param.grad.data for param in group["params"]]
            for group in self.optimizer.param_groups
        ]

    @property
    def loss_scale(self) -> float:
        """The loss scale."""
        return self.loss_scaler.loss_scale()

    @loss_scale.setter
    def loss_scale(self, value: float) -> None:
        self.loss_scaler._loss_scale = value
