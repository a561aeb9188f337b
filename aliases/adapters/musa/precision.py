"""CUDA's TF32 switches, mapped to muDNN's single one for products and convolutions."""

from __future__ import annotations

from typing import Any

import torch

from morph.aliases.adapters import precision
from morph.aliases.adapters.precision import Switches


class Matmul(precision.Matmul):
    """``torch.backends.cuda.matmul``, which reads muDNN's switch: unlike CUDA's, it is initially on."""

    def __getattr__(self, name: str) -> Any:
        return bool(_mudnn().allow_tf32) if name == "allow_tf32" else super().__getattr__(name)


def allow_tf32(in_products: bool, in_convolutions: bool) -> None:
    """Allow TF32 while torch's flags allow it for both."""
    _mudnn().allow_tf32 = in_products and in_convolutions


def _mudnn() -> Any:
    backends: Any = torch.backends
    return backends.mudnn


switches = Switches(allow_tf32, Matmul)
