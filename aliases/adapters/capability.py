"""A CUDA compute capability for devices without one, chosen by the device's features."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from morph.backends import vendor_module

WITH_BFLOAT16 = (8, 0)
WITHOUT_BFLOAT16 = (7, 0)


def nominal() -> tuple[int, int]:
    """Return the lowest capability with the device's features: half precision, with or without bfloat16.

    Programs compare it to choose bfloat16 (from 8.0) and the kernels of later generations (from 8.9 and 9.0),
    which no vendor has: they take a usable path either way.

    Returns:
        CUDA's major and minor capability.
    """
    return _nominal(vendor_module())


@functools.cache
def _nominal(vendor: Any) -> tuple[int, int]:
    # the served function, unlike the vendor's, always takes the argument
    return WITH_BFLOAT16 if torch.cuda.is_bf16_supported(including_emulation=False) else WITHOUT_BFLOAT16


def get_device_capability(target: Callable[[Any], tuple[int, int]], device: Any = None) -> tuple[int, int]:
    """Implement ``torch.cuda.get_device_capability(device)``.

    Args:
        target: The vendor's function, which numbers its own generations.
        device: The device; None is the current one.
    """
    target(device)  # which raises, as CUDA does, if there is no such device
    return nominal()


def is_bf16_supported(target: Callable[[], bool], including_emulation: bool = True) -> bool:
    """Implement ``torch.cuda.is_bf16_supported``.

    Args:
        target: The vendor's function, which describes the hardware and needs no argument.
        including_emulation: Without effect: the vendor emulates none.
    """
    return target()


def is_tf32_supported() -> bool:
    """Return whether products can run in a shortened float32: where bfloat16 is supported, as on CUDA."""
    return bool(vendor_module().is_bf16_supported())
