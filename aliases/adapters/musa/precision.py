"""CUDA's TF32 switches, mapped to muDNN's, and to the one for products where there is one."""

from __future__ import annotations

from typing import Any

import torch

from morph.aliases.adapters import precision
from morph.aliases.adapters.precision import Switches


class Matmul(precision.Matmul):
    """``torch.backends.cuda.matmul``, which reads the vendor's; torch_musa 2.7 has muDNN's, which is on."""

    def __getattr__(self, name: str) -> Any:
        return bool(_products().allow_tf32) if name == "allow_tf32" else super().__getattr__(name)


def allow_tf32(in_products: bool, in_convolutions: bool) -> None:
    """Allow TF32 as torch's flags do; where muDNN's switch is the only one, while they allow it for both."""
    mudnn, products = _backends().mudnn, _products()
    if products is mudnn:
        mudnn.allow_tf32 = in_products and in_convolutions
    else:
        products.allow_tf32, mudnn.allow_tf32 = in_products, in_convolutions


def _products() -> Any:
    """Return what has the switch for products."""
    own = getattr(_backends(), "musa", None)
    return getattr(own, "matmul", _backends().mudnn)


def _backends() -> Any:
    return torch.backends


switches = Switches(allow_tf32, Matmul)
