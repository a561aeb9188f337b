"""The methods that amp adds to an optimizer."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..fp16_utils.fp16util import master_params_to_model_params
from ..multi_tensor_apply import multi_tensor_applier
from ..optimizers import FusedSGD
from ._amp_state import maybe_print
from .gradients import (
    post_backward_models_are_masters,
    post_backward_no_master_weights,
    post_backward_no_master_weights_FusedSGD,
    post_backward_with_master_weights,
    post_backward_with_master_weights_FusedSGD,
    prepare_backward_no_master_weights,
    prepare_backward_no_master_weights_FusedSGD,
    prepare_backward_with_master_weights,
    prepare_backward_with_master_weights_FusedSGD,
)
from .properties import Properties
from .stash import AmpOptimizerState, stash_params, stash_params_and_masters

__all__ = [
    "AmpOptimizerState",
    "FusedSGD",
    "lazy_init_no_master_weights",
    "lazy_init_with_master_weights",
    "master_params_to_model_params",
    "maybe_print",
    "multi_tensor_applier",
    "post_backward_models_are_masters",
    "post_backward_no_master_weights",
    "post_backward_no_master_weights_FusedSGD",
    "post_backward_with_master_weights",
    "post_backward_with_master_weights_FusedSGD",
    "prepare_backward_no_master_weights",
    "prepare_backward_no_master_weights_FusedSGD",
    "prepare_backward_with_master_weights",
    "prepare_backward_with_master_weights_FusedSGD",
]

METHODS = (
    "_lazy_init_maybe_master_weights",
    "_master_params_to_model_params",
    "_prepare_amp_backward",
    "_post_amp_backward",
    "_amp_lazy_init",
)


def lazy_init_with_master_weights(self: Any) -> None:
    """Make the optimizer update float32 masters of its float16 parameters."""
    stash = self._amp_stash
    stash.fp16_groups, stash.fp32_from_fp16_groups, stash.fp32_from_fp32_groups = [], [], []
    stash.all_fp16_params, stash.all_fp32_from_fp16_params, stash.all_fp32_from_fp32_params = [], [], []
    stash.all_fp16_grad_stash, stash.all_fp32_from_fp32_grad_stash = [], []
    for group in self.param_groups:
        stash_params_and_masters(stash, group["params"], self.state)
    for param in [*stash.all_fp32_from_fp16_params, *stash.all_fp32_from_fp32_params]:
        param.grad = None
    self.load_state_dict(self.state_dict())


def lazy_init_no_master_weights(self: Any) -> None:
    """Sort the optimizer's parameters by dtype."""
    stash = self._amp_stash
    stash.all_fp16_params, stash.all_fp32_params = [], []
    stash.all_fp16_grad_stash, stash.all_fp32_grad_stash = [], []
    for group in self.param_groups:
        stash_params(stash, group["params"])


def _master_params_to_model_params(self: Any) -> None:
    stash = self._amp_stash
    if stash.all_fp16_params:
        with torch.no_grad():
            torch._foreach_copy_(stash.all_fp16_params, stash.all_fp32_from_fp16_params)


def _amp_lazy_init(self: Any) -> None:
    if not self._amp_stash.lazy_init_called:
        self._lazy_init_maybe_master_weights()
        self._amp_stash.lazy_init_called = True


def _process_optimizer(optimizer: Any, properties: Properties) -> Any:
    if hasattr(optimizer, "_amp_stash"):
        raise RuntimeError("A given optimizer should only be passed through amp.initialize once.")
    for name in METHODS:
        if hasattr(optimizer, name):
            raise RuntimeError(f"Incoming optimizer already has {name} defined.")
    optimizer._amp_stash = AmpOptimizerState()
    _bind(optimizer, "_amp_lazy_init", _amp_lazy_init)
    if properties.master_weights:
        _add_master_weights(optimizer)
    else:
        _bind(optimizer, "_lazy_init_maybe_master_weights", lazy_init_no_master_weights)
        _bind(optimizer, "_prepare_amp_backward", prepare_backward_no_master_weights)
        _bind(optimizer, "_post_amp_backward", post_backward_no_master_weights)
    _replace_add_param_group(optimizer, bool(properties.master_weights))
    return optimizer


def _bind(optimizer: Any, name: str, function: Callable[..., Any]) -> None:
    setattr(optimizer, name, types.MethodType(function, optimizer))


def _add_master_weights(optimizer: Any) -> None:
    _bind(optimizer, "_lazy_init_maybe_master_weights", lazy_init_with_master_weights)
    _bind(optimizer, "_master_params_to_model_params", _master_params_to_model_params)
    if isinstance(optimizer, FusedSGD):
        _bind(optimizer, "_prepare_amp_backward", prepare_backward_with_master_weights_FusedSGD)
        _bind(optimizer, "_post_amp_backward", post_backward_with_master_weights_FusedSGD)
    else:
        _bind(optimizer, "_prepare_amp_backward", prepare_backward_with_master_weights)
        _bind(optimizer, "_post_amp_backward", post_backward_with_master_weights)
    own_step = optimizer.step

    def step(self: Any, closure: Any = None) -> Any:
        if closure is not None:
            raise RuntimeError("Currently, Amp does not support closure use with optimizers.")
        result = own_step()
        if not isinstance(self, FusedSGD):  # it writes the model's parameters itself
            self._master_params_to_model_params()
        for param in self._amp_stash.all_fp32_from_fp16_params:
            param.grad = None
        return result

    def zero_grad(self: Any, set_to_none: bool = False) -> None:
        self._amp_lazy_init()
        stash = self._amp_stash
        for param in [*stash.all_fp16_params, *stash.all_fp32_from_fp32_params]:
            if set_to_none:
                param.grad = None
            elif param.grad is not None:
                param.grad = param.grad.detach_().zero_()
        for param in stash.all_fp32_from_fp16_params:
            param.grad = None

    _bind(optimizer, "step", step)
    _bind(optimizer, "zero_grad", zero_grad)


def _replace_add_param_group(optimizer: Any, master_weights: bool) -> None:
    own = optimizer.add_param_group

    def add_param_group(self: Any, new_group: dict[str, Any]) -> None:
        self._amp_lazy_init()
        assert isinstance(new_group, dict), "param group must be a dict"
        params = new_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        new_group["params"] = [params] if isinstance(params, Tensor) else list(params)
        if master_weights:
            stash_params_and_masters(self._amp_stash, new_group["params"], self.state)
        else:
            stash_params(self._amp_stash, new_group["params"])
        own(new_group)

    _bind(optimizer, "add_param_group", add_param_group)
