"""Small tensors for the scenarios of attention, and what their results must be."""

from typing import Any

import torch
from torch import Tensor

HALF: dict[str, Any] = {"device": "cuda", "dtype": torch.float16}


def tensor(*shape: int) -> Tensor:
    """Returns random numbers in half precision on the device, which ask for a gradient."""
    return torch.randn(shape, **HALF).requires_grad_()


def is_good(*results: Tensor) -> bool:
    """Returns whether results are finite, after a backward pass from each that has a gradient."""
    for result in results:
        if result.requires_grad:
            result.float().sum().backward()
    return all(bool(result.isfinite().all()) for result in results)
