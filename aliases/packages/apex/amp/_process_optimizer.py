"""The methods that amp adds to an optimizer, and what it stores there."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..fp16_utils.fp16util import drop_gradients, with_masters
from ..kernels.loss_scaler import LossScaler
from .properties import Properties


class AmpOptimizerState:
    """What amp stores for an optimizer, in apex's names: parameters by dtype, masters, gradients."""

    def __init__(self) -> None:
        self.lazy_init_called = False
        self.already_patched = False
        self.params_have_scaled_gradients = False
        self.all_fp16_params: list[Tensor] = []
        self.all_fp32_from_fp16_params: list[Tensor] = []
        self.all_fp32_from_fp32_params: list[Tensor] = []
        self.stashed: dict[Tensor, Tensor | None] = {}

    def add(self, params: list[Tensor], masters: bool, state: Any) -> None:
        """Sort the parameters of a group; with masters, they replace the float16 ones in it."""
        halves, of_halves, singles = with_masters(params, state, masters)
        self.all_fp16_params += halves
        self.all_fp32_from_fp16_params += of_halves
        self.all_fp32_from_fp32_params += singles

    def updated_directly(self) -> list[list[Tensor]]:
        """Return the parameters without masters, by dtype."""
        halves = [] if self.all_fp32_from_fp16_params else self.all_fp16_params
        return [halves, self.all_fp32_from_fp32_params]


def _amp_lazy_init(self: Any) -> None:
    if not self._amp_stash.lazy_init_called:
        self._lazy_init_maybe_master_weights()
        self._amp_stash.lazy_init_called = True


def _prepare_amp_backward(self: Any) -> None:
    """Stash the gradients of parameters that are updated directly, and drop those that have masters."""
    self._amp_lazy_init()
    stash = self._amp_stash
    for params in stash.updated_directly():
        stash.stashed.update((param, param.grad) for param in params)
    drop_gradients([*stash.all_fp16_params, *stash.all_fp32_from_fp32_params], True)


def _post_amp_backward(self: Any, scaler: LossScaler) -> None:
    """Unscale all gradients, and add the earlier ones."""
    self._amp_lazy_init()
    stash = self._amp_stash
    for params in stash.updated_directly():
        _unscale(scaler, params, params, [stash.stashed.pop(param, None) for param in params])
    masters = stash.all_fp32_from_fp16_params
    if masters:
        _unscale(scaler, stash.all_fp16_params, masters, [master.grad for master in masters])


def _unscale(
    scaler: LossScaler, models: Sequence[Tensor], masters: Sequence[Tensor], earlier: Sequence[Tensor | None]
) -> None:
    new: list[tuple[Tensor, Any]] = []
    more: list[tuple[Tensor, Tensor, Any]] = []
    for model, master, old in zip(models, masters, earlier, strict=True):
        if model.grad is None:
            master.grad = old
        elif old is None:
            if master is not model:
                master.grad = torch.empty_like(master)
            new.append((model.grad, master.grad))
        else:
            more.append((model.grad, old, master.grad))
    grads, targets = [grad for grad, _ in new], [target for _, target in new]
    scaler.unscale(grads, targets, None, models_are_masters=models is masters)
    scaler.unscale_with_stashed(*([each[place] for each in more] for place in range(3)))


def _master_params_to_model_params(self: Any) -> None:
    stash = self._amp_stash
    if stash.all_fp32_from_fp16_params:
        with torch.no_grad():
            torch._foreach_copy_(stash.all_fp16_params, stash.all_fp32_from_fp16_params)


def _process_optimizer(optimizer: Any, properties: Properties) -> None:
    if hasattr(optimizer, "_amp_stash"):
        raise RuntimeError("A given optimizer should only be passed through amp.initialize once.")
    optimizer._amp_stash = AmpOptimizerState()
    masters, own_add = bool(properties.master_weights), optimizer.add_param_group

    def lazy_init(self: Any) -> None:
        for group in self.param_groups:
            self._amp_stash.add(group["params"], masters, self.state)
        if masters:
            drop_gradients([param for group in self.param_groups for param in group["params"]], True)
            self.load_state_dict(self.state_dict())

    def add_param_group(self: Any, new_group: dict[str, Any]) -> None:
        self._amp_lazy_init()
        params = new_group["params"]
        new_group["params"] = [params] if isinstance(params, Tensor) else list(params)
        self._amp_stash.add(new_group["params"], masters, self.state)
        own_add(new_group)

    methods = [_amp_lazy_init, _prepare_amp_backward, _post_amp_backward, add_param_group]
    for method in [*methods, *(_methods_with_masters(optimizer) if masters else ())]:
        setattr(optimizer, method.__name__, types.MethodType(method, optimizer))
    optimizer._lazy_init_maybe_master_weights = types.MethodType(lazy_init, optimizer)


def _methods_with_masters(optimizer: Any) -> list[Callable[..., Any]]:
    own_step = optimizer.step

    def step(self: Any, closure: Any = None) -> Any:
        if closure is not None:
            raise RuntimeError("Currently, Amp does not support closure use with optimizers.")
        result = own_step()
        self._master_params_to_model_params()
        drop_gradients(self._amp_stash.all_fp32_from_fp16_params, True)
        return result

    def zero_grad(self: Any, set_to_none: bool = False) -> None:
        self._amp_lazy_init()
        stash = self._amp_stash
        drop_gradients([*stash.all_fp16_params, *stash.all_fp32_from_fp32_params], set_to_none)
        drop_gradients(stash.all_fp32_from_fp16_params, True)

    return [_master_params_to_model_params, step, zero_grad]
