"""Layer-wise adaptive rates around an optimizer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class LARC:
    """Scales or clips each tensor's gradient by the ratio of its norms before an optimizer's step.

    All other attributes and methods are the optimizer's.

    Args:
        optimizer: The optimizer; its weight decay is applied here.
        trust_coefficient: The factor of the ratio of norms.
        clip: Whether the rate is limited to the optimizer's own instead of multiplied by it.
        eps: Added to the denominator.
    """

    def __init__(
        self, optimizer: Any, trust_coefficient: float = 0.02, clip: bool = True, eps: float = 1e-8
    ) -> None:
        self.optim = optimizer
        self.trust_coefficient = trust_coefficient
        self.eps = eps
        self.clip = clip

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__.get("optim"), name)

    def __repr__(self) -> str:
        return repr(self.optim)

    @property
    def param_groups(self) -> Any:
        """The optimizer's parameter groups."""
        return self.optim.param_groups

    @param_groups.setter
    def param_groups(self, value: Any) -> None:
        self.optim.param_groups = value

    def step(self) -> None:
        """Scale the gradients in place, and run the optimizer's step."""
        groups = self.optim.param_groups
        decays = [group.get("weight_decay", 0) for group in groups]
        with torch.no_grad():
            for group, decay in zip(groups, decays, strict=True):
                group["weight_decay"] = 0
                for param in group["params"]:
                    if param.grad is not None:
                        param.grad.copy_(self._adapted(param, param.grad, decay, group["lr"]))
        self.optim.step()
        for group, decay in zip(groups, decays, strict=True):
            group["weight_decay"] = decay

    def _adapted(self, param: Tensor, grad: Tensor, decay: float, lr: Any) -> Tensor:
        param_norm, grad_norm = param.norm(), grad.norm()
        rate = self.trust_coefficient * param_norm / (grad_norm + param_norm * decay + self.eps)
        if self.clip:
            rate = (rate / lr).clamp(max=1)
        # decided on the device, since a condition in Python would wait for it
        usable = (param_norm != 0) & (grad_norm != 0)
        return torch.where(usable, (grad + decay * param) * rate, grad)
