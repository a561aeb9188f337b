"""CUDA's compute capability on devices that have none: the one whose features the device has."""

from __future__ import annotations

import functools
from typing import Any

from morph.backends import vendor_module

WITH_BFLOAT16 = (8, 0)
WITHOUT_BFLOAT16 = (7, 0)


def nominal() -> tuple[int, int]:
    """Return the lowest capability that has what the device has: half precision, and bfloat16 or not.

    Programs compare it to choose bfloat16 (8.0 on), and the kernels of later generations (8.9 and 9.0 on),
    which no vendor has: they get a usable path either way.

    Returns:
        CUDA's major and minor capability.
    """
    return _nominal(vendor_module())


@functools.cache
def _nominal(vendor: Any) -> tuple[int, int]:
    return WITH_BFLOAT16 if vendor.is_bf16_supported() else WITHOUT_BFLOAT16


def is_tf32_supported() -> bool:
    """Tell whether products can run in a shortened float32, which came with bfloat16, as on CUDA."""
    return bool(vendor_module().is_bf16_supported())
