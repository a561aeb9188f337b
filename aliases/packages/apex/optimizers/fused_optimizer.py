"""The common base of the fused optimizers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..kernels.tensor_lists import LOW_PRECISION, check_dense

Closure = Callable[[], Any]
Group = dict[str, Any]


class FusedOptimizer(torch.optim.Optimizer):
    """An optimizer that groups the parameters of a group by dtype, and updates those of one dtype at once.

    ``zero_grad()`` sets gradients to None if ``set_grad_none``; ``amsgrad`` raises ``RuntimeError``. The
    options in ``modes`` are attributes, and the others are the defaults of groups.
    """

    modes: tuple[str, ...] = ("set_grad_none",)
    set_grad_none = True

    supported: tuple[torch.dtype, ...] = (torch.float16, torch.float32)
    advice_on_sparse = ", please consider SparseAdam instead"

    def __init__(self, params: Any, amsgrad: bool = False, **options: Any) -> None:
        if amsgrad:
            raise RuntimeError(f"{type(self).__name__} does not support the AMSGrad variant.")
        for name in self.modes:
            value = options.pop(name)
            setattr(self, name, int(bool(value)) if name.endswith("_w_mode") else value)
        super().__init__(params, options)
        self._dummy_overflow_buf = torch.zeros(1, dtype=torch.int, device=self._device())

    def _device(self) -> torch.device:
        params: list[Tensor] = [param for group in self.param_groups for param in group["params"]]
        return params[0].device

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Set the gradients to None or to zero, by default as the optimizer was created."""
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters, and return the loss if there is a closure.

        Raises:
            RuntimeError: If a gradient is sparse, or a parameter is not supported.
        """
        loss = None if closure is None else closure()
        with torch.no_grad():
            self._step_all()
        return loss

    def _step_all(self) -> None:
        for group in self.param_groups:
            self._step(group)

    def _step(self, group: Group) -> None:
        raise NotImplementedError

    def _by_dtype(self, group: Group) -> dict[torch.dtype, list[Tensor]]:
        """Return the parameters of a group that have gradients, by dtype."""
        sorts: dict[torch.dtype, list[Tensor]] = {}
        name = type(self).__name__
        for param in group["params"]:
            if param.grad is not None:
                if param.grad.layout != torch.strided:
                    raise RuntimeError(f"{name} does not support sparse gradients{self.advice_on_sparse}")
                sorts.setdefault(param.dtype, []).append(param)
        for dtype, params in sorts.items():
            if dtype not in self.supported:
                raise RuntimeError(f"{name} only support fp16 and fp32.")
            check_dense(params)
        return sorts

    def _kept(self, params: Sequence[Tensor], key: str, dtype: torch.dtype | None = None) -> list[Tensor]:
        """Return the state called ``key`` of each parameter, by default zeros of ``dtype``."""
        states = [self.state[param] for param in params]
        for param, state in zip(params, states, strict=True):
            if key not in state:
                state[key] = torch.zeros_like(param, dtype=dtype)
        return [state[key] for state in states]

    def _averages(
        self, params: Sequence[Tensor], dtype: torch.dtype | None = None
    ) -> tuple[list[Tensor], list[Tensor]]:
        return self._kept(params, "exp_avg", dtype), self._kept(params, "exp_avg_sq", dtype)

    def _restore_precision(self, state_dict: Mapping[str, Any]) -> None:
        """Restore the saved float32 state of low-precision parameters from a state dict.

        torch rounds it to the parameter's dtype during loading.
        """
        saved = itertools.chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        own = itertools.chain.from_iterable(group["params"] for group in self.param_groups)
        for number, param in zip(saved, own, strict=True):
            if param.dtype in LOW_PRECISION:
                for key, value in state_dict["state"].get(number, {}).items():
                    if isinstance(value, Tensor) and value.is_floating_point():
                        self.state[param][key] = value.to(param.device, copy=True)


def gradients(params: Sequence[Tensor]) -> list[Tensor]:
    """Return the gradients of parameters that have them."""
    return [grad for param in params if (grad := param.grad) is not None]


def next_step(group: Group) -> int:
    """Increment the step count of a group, and return it; the first is 1."""
    group["step"] = group.get("step", 0) + 1
    return int(group["step"])


def make_tensors(group: Group, **values: Any) -> None:
    """Replace a group's learning rate and step, by default ``values``, with new tensors for graphs."""
    device = group["params"][0].device
    for name, dtype, shape in (("lr", torch.float32, ()), ("step", torch.int, (1,))):
        value = torch.as_tensor(group.get(name, values.get(name)), dtype=dtype)
        group[name] = value.reshape(shape).clone().to(device)


def scale_of(optimizer: torch.optim.Optimizer, grad_scaler: Any, device: torch.device) -> tuple[Any, Tensor]:
    """Return a gradient scaler's factor of the gradients, and whether it found infinities.

    Without a scaler these are None and zero.
    """
    if grad_scaler is None:
        return None, torch.zeros(1, device=device)
    found_inf = grad_scaler._check_inf_per_device(optimizer)[device]
    return grad_scaler._get_scale_async().reshape(()), found_inf
