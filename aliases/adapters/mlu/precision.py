"""CUDA's switches, mapped to CNNL's: TF32 in products and convolutions, and cuDNN's choice of kernels."""

from __future__ import annotations

from typing import Any

import torch

from morph.aliases.adapters import precision
from morph.aliases.adapters.precision import Switches

REDUCTIONS = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")


class Matmul(precision.Matmul):
    """``torch.backends.cuda.matmul``, where torch_mlu replaces the functions behind three of its flags."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            torch.set_float32_matmul_precision("high" if value else "highest")
            self._follow_torch()
        elif name in REDUCTIONS:
            # the replacements take fewer arguments than torch passes; MLUs always accumulate in float32
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)


def follow(in_products: bool, in_convolutions: bool) -> None:
    """Switch CNNL's TF32 to match torch's flags, and its choice of kernels to match cuDNN's."""
    backends: Any = torch.backends
    backends.mlu.matmul.allow_tf32 = in_products
    backends.cnnl.allow_tf32 = in_convolutions
    backends.cnnl.deterministic = torch._C._get_cudnn_deterministic()
    backends.cnnl.benchmark = torch._C._get_cudnn_benchmark()


switches = Switches(follow, Matmul)
deterministic = switches.flag("deterministic")
benchmark = switches.flag("benchmark")
