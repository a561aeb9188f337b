"""Gradient scaling on GPUs without float64, such as Intel's Arc A series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from morph.backends import vendor_module


def unscale(target: Callable[..., None], scaler: Any, optimizer: torch.optim.Optimizer) -> None:
    """Implement ``GradScaler.unscale_(optimizer)``.

    torch computes the scale's reciprocal in float64 (pytorch#147731): on the host if the device lacks it.

    Args:
        target: torch's own method.
        scaler: The scaler.
        optimizer: The optimizer whose gradients to unscale.
    """
    scale = getattr(scaler, "_scale", None)  # a disabled scaler has none
    if scale is None or scale.device.type != "xpu" or _has_float64(scale.device):
        target(scaler, optimizer)
        return
    scaler._scale = scale.cpu()
    try:
        target(scaler, optimizer)
    finally:
        scaler._scale = scale


def _has_float64(device: torch.device) -> bool:
    return bool(vendor_module().get_device_properties(device).has_fp64)
