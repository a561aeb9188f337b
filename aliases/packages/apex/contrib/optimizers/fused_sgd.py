"""Stochastic gradient descent, in apex's first version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.optimizer import required

from ... import optimizers
from ...optimizers.fused_optimizer import Closure, evaluated
from ...optimizers.fused_sgd import Launch
from .fused_adam import by_group


class FusedSGD(optimizers.FusedSGD):
    """Stochastic gradient descent on the masters of ``FP16_Optimizer``, with its gradients.

    Its options are those of ``apex.optimizers.FusedSGD``; ``materialize_master_grads`` is ignored.
    """

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
    ) -> None:
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, wd_after_momentum)

    def step(
        self,
        closure: Closure | None = None,
        grads: Any = None,
        output_params: Any = None,
        scale: float = 1.0,
        grad_norms: Any = None,
    ) -> Any:
        """Update the parameters, and their copies; otherwise like ``FusedAdam.step``.

        Raises:
            RuntimeError: If there are no gradients or copies, or amp has taken this optimizer over.
        """
        if hasattr(self, "_amp_stash"):
            raise RuntimeError("apex.contrib.optimizers.FusedSGD should not be used with AMP.")
        loss = evaluated(closure)
        for name, given in (("grads", grads), ("output_params", output_params)):
            if given is None:
                raise RuntimeError(
                    "apex.contrib.optimizers.FusedSGD must be wrapped with "
                    f"apex.contrib.optimizers.FP16_Optimizer which provides {name}."
                )
        number = len(self.param_groups)
        lists = by_group(grads, number), by_group(output_params, number)
        self.most_recent_scale = scale
        with torch.no_grad():
            for group, its_grads, copies in zip(self.param_groups, *lists, strict=False):
                for launch in _sorted(its_grads, group["params"], copies):
                    self._launch(launch, group)
        return loss


def _sorted(grads: Any, params: Any, copies: Any) -> Iterable[Launch]:
    """Return gradients, parameters and copies, grouped by the dtype of the copies."""
    sorts: dict[torch.dtype, Launch] = {}
    for tensors in zip(grads, params, copies, strict=True):
        for tensor, members in zip(tensors, sorts.setdefault(tensors[2].dtype, ([], [], [])), strict=True):
            members.append(tensor)
    return sorts.values()
