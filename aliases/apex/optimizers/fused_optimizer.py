"""What the fused optimizers share."""

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
    """An optimizer that sorts the parameters of a group by dtype, and updates each sort at once."""

    set_grad_none: bool
    supported: tuple[torch.dtype, ...] = (torch.float16, torch.float32)
    advice_on_sparse = ", please consider SparseAdam instead"

    def zero_grad(self) -> None:  # type: ignore[override]
        """Set the gradients to None, or to zero if the optimizer was told so."""
        super().zero_grad(set_to_none=self.set_grad_none)

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
        """Return the state called ``key`` of each parameter, zeros of ``dtype`` where there is none."""
        states = [self.state[param] for param in params]
        for param, state in zip(params, states, strict=True):
            if key not in state:
                state[key] = torch.zeros_like(param, dtype=dtype)
        return [state[key] for state in states]

    def _restore_precision(self, state_dict: Mapping[str, Any]) -> None:
        """Take float32 state of low-precision parameters from a state dict as it was saved.

        torch rounds it to the parameter's dtype when it loads it.
        """
        saved = itertools.chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        own = itertools.chain.from_iterable(group["params"] for group in self.param_groups)
        for number, param in zip(saved, own, strict=True):
            if param.dtype in LOW_PRECISION:
                for key, value in state_dict["state"].get(number, {}).items():
                    if isinstance(value, Tensor) and value.is_floating_point():
                        self.state[param][key] = value.to(param.device, copy=True)


def gradients(params: list[Tensor]) -> list[Tensor]:
    """Return the gradients of parameters that have them."""
    return [grad for param in params if (grad := param.grad) is not None]


def next_step(group: Group) -> int:
    """Count one more step of a group, and return its number, from 1."""
    group["step"] = group.get("step", 0) + 1
    return int(group["step"])


def evaluated(closure: Closure | None) -> Any:
    """Return what a closure returns, None if there is none."""
    return closure() if closure is not None else None
