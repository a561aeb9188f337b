"""Stochastic gradient descent."""

from __future__ import annotations

import itertools
from typing import Any

from torch.optim.optimizer import required

from ..kernels.original import initializer
from ..kernels.sgd import SGD, update
from .fused_optimizer import FusedOptimizer, Group, gradients


class FusedSGD(FusedOptimizer):
    """``torch.optim.SGD`` of float16 and float32.

    Args (the others are torch's):
        wd_after_momentum: Whether the weight decay is added to the update instead of the gradient.
        materialize_master_grads: Accepted without effect: masters of amp always have gradients.
        set_grad_none: Whether ``zero_grad()`` sets gradients to None.

    Raises:
        ValueError: If a value is negative, or Nesterov's momentum lacks momentum or has dampening.
    """

    modes = ("set_grad_none", "wd_after_momentum", "materialize_master_grads")
    wd_after_momentum: bool

    @initializer(__name__)
    def __init__(self, lr: Any, momentum: float, dampening: float, nesterov: bool, **options: Any) -> None:
        values = {
            "learning rate": lr,
            "momentum value": momentum,
            "weight_decay value": options["weight_decay"],
        }
        for name, value in values.items():
            if value is not required and value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(lr=lr, momentum=momentum, dampening=dampening, nesterov=nesterov, **options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def _step(self, group: Group) -> None:
        for params in self._by_dtype(group).values():
            new = ["momentum_buffer" not in self.state[param] for param in params]
            for first_run in set(new):
                chosen = list(itertools.compress(params, [each is first_run for each in new]))
                momenta = self._kept(chosen, "momentum_buffer")
                update((gradients(chosen), chosen, momenta), self._options(group, first_run))

    def _options(self, group: Group, first_run: bool) -> SGD:
        names = "weight_decay", "momentum", "dampening", "lr", "nesterov"
        options: list[Any] = [*map(group.get, names), first_run, self.wd_after_momentum, 1.0]
        return SGD(*options)
