"""Gradient scaling with CUDA's parameters, through torch's own scaler on the vendor's device."""

from __future__ import annotations

import torch

from morph.backends import active


class GradScaler(torch.amp.GradScaler):
    """torch's own scaler on the active backend's device.

    A vendor's own class may take other parameters, require other keys in a saved state and print messages.

    Args:
        init_scale: The initial scale.
        growth_factor: Factor of the scale after ``growth_interval`` steps without an overflow.
        backoff_factor: Factor of the scale after an overflow.
        growth_interval: Steps between growths.
        enabled: Whether the scaler has any effect.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        backend = active()
        device_type = backend.device_type if backend else "cuda"
        super().__init__(device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


GradScaler.__module__ = "torch.cuda.amp.grad_scaler"  # so that pickles load without morph
