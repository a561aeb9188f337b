"""CUDA's TF32 switches for products and for convolutions, mapped to oneDNN's single one."""

from __future__ import annotations

from typing import Any

import torch.backends.mkldnn

from morph.aliases.adapters.precision import Switches

_onednn: Any = torch.backends.mkldnn  # which has no annotations


def allow_tf32(in_products: bool, in_convolutions: bool) -> None:
    """Allow TF32 in oneDNN while CUDA's flags allow it for both products and convolutions."""
    allowed = in_products and in_convolutions
    if _onednn.allow_tf32 not in (None, allowed):  # None where torch is built without Intel GPUs
        _onednn.allow_tf32 = allowed


switches = Switches(allow_tf32)
