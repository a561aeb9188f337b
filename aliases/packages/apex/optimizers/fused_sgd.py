"""Stochastic gradient descent."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import required

from ..kernels.sgd import SGD, multi_tensor_sgd, update
from .fused_optimizer import FusedOptimizer, Group, gradients

# gradients, parameters, and amp's float16 copies of the parameters
Launch = tuple[list[Tensor], list[Tensor], list[Tensor]]


class FusedSGD(FusedOptimizer):
    """Stochastic gradient descent with momentum.

    Args:
        params: Parameters, float16 or float32, or dicts that define parameter groups.
        lr: The learning rate.
        momentum: The decay of the momenta.
        dampening: The share of a gradient that is not added to its momentum.
        weight_decay: The factor of the weight decay.
        nesterov: Whether to use Nesterov's momentum.
        wd_after_momentum: Whether the weight decay is added to the update instead of the gradient.
        materialize_master_grads: Whether amp with master weights creates float32 gradients; if not, this
            optimizer reads those of the model.
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.

    Raises:
        ValueError: If a value is negative, or Nesterov's momentum lacks momentum or has dampening.
    """

    multi_tensor_sgd = staticmethod(multi_tensor_sgd)

    def __init__(
        self,
        params: Any,
        lr: Any = required,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        wd_after_momentum: bool = False,
        materialize_master_grads: bool = True,
        set_grad_none: bool = False,
    ) -> None:
        values = {"learning rate": lr, "momentum value": momentum, "weight_decay value": weight_decay}
        for name, value in values.items():
            if value is not required and value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "nesterov": nesterov})
        self.wd_after_momentum = wd_after_momentum
        self.materialize_master_grads = materialize_master_grads
        self.most_recent_scale = 1.0
        self.scale_set_by_backward = False
        self.set_grad_none = set_grad_none
        self._dummy_overflow_buf = self._flag()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def get_momentums(self, params: Sequence[Tensor]) -> tuple[list[Tensor], bool]:
        """Return the momenta of parameters, and whether the last of them is new.

        Args:
            params: The parameters; those without a momentum get one of zeros.
        """
        new = bool(params) and "momentum_buffer" not in self.state[params[-1]]
        return self._kept(params, "momentum_buffer"), new or not params

    def _step_all(self) -> None:
        for number, group in enumerate(self.param_groups):
            for launch in self._launches(number, group):
                self._launch(launch, group)
        self.most_recent_scale = 1.0
        self.scale_set_by_backward = False

    def _launches(self, number: int, group: Group) -> Iterator[Launch]:
        stash: Any = getattr(self, "_amp_stash", None)
        if hasattr(stash, "fp32_from_fp16_groups"):
            yield self._launch_of_masters(stash, number)
            whole = [param for param in stash.fp32_from_fp32_groups[number] if param.grad is not None]
            yield gradients(whole), whole, []
            return
        for params in self._by_dtype(group).values():
            yield gradients(params), params, []

    def _launch_of_masters(self, stash: Any, number: int) -> Launch:
        models, masters = stash.fp16_groups[number], stash.fp32_from_fp16_groups[number]
        owners = masters if self.materialize_master_grads else models
        chosen = [index for index, owner in enumerate(owners) if owner.grad is not None]
        grads = [owners[index].grad for index in chosen]
        return grads, [masters[index] for index in chosen], [models[index] for index in chosen]

    def _launch(self, launch: Launch, group: Group) -> None:
        grads, params, copies = launch
        new = ["momentum_buffer" not in self.state[param] for param in params]
        momenta, _ = self.get_momentums(params)
        for first_run in set(new):
            chosen = new if first_run else [not each for each in new]
            lists = [list(itertools.compress(each, chosen)) for each in (grads, params, momenta)]
            update(lists[0], lists[1], lists[2], self._options(group, first_run))
        if copies:
            torch._foreach_copy_(copies, params)

    def _options(self, group: Group, first_run: bool) -> SGD:
        names = "weight_decay", "momentum", "dampening", "lr", "nesterov"
        rest = first_run, self.wd_after_momentum, 1.0 / self.most_recent_scale
        options: list[Any] = [*map(group.get, names), *rest]
        return SGD(*options)
