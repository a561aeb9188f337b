"""How exact float32 products are: CUDA's flags, which torch_tpu's one precision of a process follows.

A TPU multiplies bfloat16; float32 takes several passes. torch_tpu starts with one pass, which is bfloat16's
precision, CUDA with float32's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

from morph.aliases.adapters.precision import Switches
from morph.base.journal import Journal


def serve(journal: Journal) -> None:
    """Start with products of float32's precision, and have ``torch.set_float32_matmul_precision`` set both.

    Args:
        journal: Records the rebinding.
    """
    torch_tpus: Callable[[str], None] = torch.set_float32_matmul_precision
    own: Any = torch._C

    def set_precision(precision: str) -> None:
        own._set_float32_matmul_precision(precision)
        torch_tpus(precision)

    before = torch.get_float32_matmul_precision()
    journal.on_undo(lambda: torch_tpus(before))
    torch_tpus(own._get_float32_matmul_precision())
    journal.set_attribute(torch, "set_float32_matmul_precision", set_precision)
    journal.set_attribute(torch, "get_float32_matmul_precision", own._get_float32_matmul_precision)


def _follow(in_products: bool, in_convolutions: bool) -> None:
    """Have torch_tpu follow TF32's switch for products, off by default; it has none for convolutions."""
    vendors = importlib.import_module("torch_tpu._internal.precision.precision_impl")
    vendors._set_global_precision(vendors.Precision.HIGH if in_products else vendors.Precision.HIGHEST)


switches = Switches(_follow)
