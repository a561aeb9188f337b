"""A gradient scaler that agrees with all processes of the model."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.amp.grad_scaler import GradScaler as TorchGradScaler

from ..ranks import get_model_parallel_group


class GradScaler(TorchGradScaler):
    """torch's scaler, with infinities looked for in all processes of the model.

    Args:
        init_scale: What the factor starts from.
        growth_factor: What it is multiplied by after steps without infinities.
        backoff_factor: What it is multiplied by after one with.
        growth_interval: How many steps without infinities let it grow.
        enabled: Whether to scale at all.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    def _unscale_grads_(self, optimizer: Any, *args: Any) -> Any:
        custom = getattr(optimizer, "_custom_amp_unscale_grads", False)
        found = optimizer.unscale_grads(*args) if custom else super()._unscale_grads_(optimizer, *args)
        for found_inf in found.values():  # which both the step and the update will look at
            dist.all_reduce(found_inf, dist.ReduceOp.MAX, get_model_parallel_group())
        return found

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the factor to what the last steps found in any process, or set it."""
        if isinstance(new_scale, Tensor):
            assert new_scale.numel() == 1, "new_scale should be a float or a tensor of one element"
            assert not new_scale.requires_grad, "new_scale should not require gradients"
            new_scale = new_scale.to(dtype=torch.float32)
        super().update(new_scale)
