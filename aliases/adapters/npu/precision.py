"""CUDA's TF32 switches, mapped to Ascend's HF32: float32 products with a shortened mantissa."""

from __future__ import annotations

from morph.aliases.adapters.precision import Switches
from morph.backends import vendor_module


def allow_hf32(in_products: bool, in_convolutions: bool) -> None:
    """Switch HF32 to match torch's flags for TF32."""
    vendor = vendor_module()
    vendor.matmul.allow_hf32 = in_products
    vendor.conv.allow_hf32 = in_convolutions


switches = Switches(allow_hf32)
