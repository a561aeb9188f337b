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
Averages = tuple[list[Tensor], list[Tensor]]


class FusedOptimizer(torch.optim.Optimizer):
    """An optimizer that groups the parameters of a group by dtype, and updates those of one dtype at once.

    ``zero_grad()`` sets gradients to None if ``set_grad_none`` is true.
    """

    set_grad_none: bool
    supported: tuple[torch.dtype, ...] = (torch.float16, torch.float32)
    advice_on_sparse = ", please consider SparseAdam instead"

    def _flag(self) -> Tensor:
        device = self.param_groups[0]["params"][0].device
        return torch.zeros(1, dtype=torch.int, device=device)

    def zero_grad(self) -> None:  # type: ignore[override]
        """Set the gradients to None, or to zero if the optimizer was created so."""
        super().zero_grad(set_to_none=self.set_grad_none)

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters.

        Args:
            closure: Re-evaluates the model and returns the loss.

        Returns:
            The loss, if there is a closure.

        Raises:
            RuntimeError: If a gradient is sparse, or a parameter is not supported.
        """
        loss = evaluated(closure)
        with torch.no_grad():
            self._step_all()
        return loss

    def _step_all(self) -> None:
        for group in self.param_groups:
            self._step(group)

    def _step(self, group: Group) -> None:
        raise NotImplementedError

    def _by_dtype(self, group: Group) -> dict[torch.dtype, list[Tensor]]:
        """Return the parameters of a group that have gradients, by dtype.

        Raises:
            RuntimeError: If a gradient is sparse, a dtype is not supported, or a layout has gaps.
        """
        sorts: dict[torch.dtype, list[Tensor]] = {}
        for param in group["params"]:
            grad = param.grad
            if grad is not None:
                if grad.layout != torch.strided:
                    name = type(self).__name__
                    raise RuntimeError(f"{name} does not support sparse gradients{self.advice_on_sparse}")
                sorts.setdefault(param.dtype, []).append(param)
        for dtype, params in sorts.items():
            if dtype not in self.supported:
                raise RuntimeError(f"{type(self).__name__} only support fp16 and fp32.")
            check_dense(params)
        return sorts

    def _kept(self, params: Sequence[Tensor], key: str, dtype: torch.dtype | None = None) -> list[Tensor]:
        """Return the state called ``key`` of each parameter, by default zeros of ``dtype``."""
        states = [self.state[param] for param in params]
        for param, state in zip(params, states, strict=True):
            if key not in state:
                state[key] = torch.zeros_like(param, dtype=dtype)
        return [state[key] for state in states]

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


def refuse_amsgrad(name: str, amsgrad: bool) -> None:
    """Reject a variant for which apex has no kernel.

    Raises:
        RuntimeError: If it is requested.
    """
    if amsgrad:
        raise RuntimeError(f"{name} does not support the AMSGrad variant.")


def gradients(params: Sequence[Tensor]) -> list[Tensor]:
    """Return the gradients of parameters that have them."""
    return [grad for param in params if (grad := param.grad) is not None]


def next_step(group: Group) -> int:
    """Increment the step count of a group, and return it; the first is 1."""
    group["step"] = group.get("step", 0) + 1
    return int(group["step"])


def evaluated(closure: Closure | None) -> Any:
    """Return the result of a closure, or None if there is none."""
    return closure() if closure is not None else None


def scale_of(optimizer: torch.optim.Optimizer, grad_scaler: Any, device: torch.device) -> tuple[Any, Tensor]:
    """Return a gradient scaler's factor of the gradients, and whether it found infinities.

    Without a scaler these are None and zero.
    """
    if grad_scaler is None:
        return None, torch.zeros(1, device=device)
    found_inf = grad_scaler._check_inf_per_device(optimizer)[device]
    return grad_scaler._get_scale_async().reshape(()), found_inf
