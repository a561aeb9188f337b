"""TF32's switches, of which muDNN has one for products and convolutions."""

from __future__ import annotations

from typing import Any

import torch

from morph.aliases.torch_cuda.precision import Switches


def allow_tf32(in_products: bool, in_convolutions: bool) -> None:
    """Allow TF32 while torch's flags allow it for both."""
    backends: Any = torch.backends
    backends.mudnn.allow_tf32 = in_products and in_convolutions


switches = Switches(allow_tf32)
