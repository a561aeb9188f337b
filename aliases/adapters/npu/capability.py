"""The compute capability of an Ascend device."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from morph.aliases.adapters import capability
from morph.backends import vendor_module

VARIABLE = "TORCH_NPU_DEVICE_CAPABILITY"


def get_device_capability(
    target: Callable[[Any], tuple[int, int] | None], device: Any = None
) -> tuple[int, int]:
    """Implement ``torch.cuda.get_device_capability(device)``.

    Args:
        target: The vendor's function, which returns None unless ``TORCH_NPU_DEVICE_CAPABILITY`` is set.
        device: The device; all devices of a machine are alike.

    Returns:
        The value of the vendor's variable, else ``capability.nominal()``.
    """
    if device is not None:
        vendor_module().get_device_name(device)  # which raises, as CUDA does, if there is no such device
    chosen = target(device) if os.environ.get(VARIABLE) else None
    return chosen or capability.nominal()
