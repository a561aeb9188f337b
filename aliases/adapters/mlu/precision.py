"""CUDA's TF32 switches, mapped to CNNL's for matrix products and convolutions."""

from __future__ import annotations

from typing import Any

import torch

from morph.aliases.adapters import precision
from morph.aliases.adapters.precision import Switches


class Matmul(precision.Matmul):
    """``torch.backends.cuda.matmul``, where torch_mlu replaces the functions behind two of its flags."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            torch.set_float32_matmul_precision("high" if value else "highest")
            self._follow_torch()
        elif name == "allow_fp16_reduced_precision_reduction":
            # the replacement takes fewer arguments than torch passes; MLUs always accumulate in float32
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)


def allow_tf32(in_products: bool, in_convolutions: bool) -> None:
    """Switch CNNL's TF32 to match torch's flags."""
    backends: Any = torch.backends
    backends.mlu.matmul.allow_tf32 = in_products
    backends.cnnl.allow_tf32 = in_convolutions


switches = Switches(allow_tf32, Matmul)
