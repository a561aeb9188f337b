"""The casts of O1: torch's autocast, and wrappers for what the CPU's leaves in float16.

On the device of a vendor autocast computes exponentials, sums and losses in float32, as on CUDA. The CPU's
knows fewer functions; in float16 the others would overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional as F

from . import utils, wrap

# what CUDA's autocast computes in float32, and the CPU's does not
OF_TORCH = (
    "acos asin cosh cumprod cumsum dist erfinv exp expm1 log log10 log1p log2 norm pow prod "
    "reciprocal renorm rsqrt sinh std sum tan var"
).split()
OF_FUNCTIONAL = (
    "cosine_similarity gelu group_norm kl_div layer_norm local_response_norm log_softmax normalize softmax "
    "softmin softplus"
).split()
OF_TENSORS = [*OF_TORCH, "__pow__", "__rpow__", "log_softmax", "softmax"]


def switch_on(handle: Any, verbose: bool = False) -> None:
    """Have functions cast their arguments, until ``handle`` is deactivated.

    Args:
        handle: Says whether casts are on, and remembers what was replaced.
        verbose: Whether the casts of wrappers are printed.
    """
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.float16)
    # it never ends, so what it keeps of a parameter would outlive the parameter's next update
    torch.set_autocast_cache_enabled(False)
    if torch.empty(0, device="cuda").device.type == "cpu":
        for owner, name in _left_in_float16():
            wrap.cached_cast(owner, name, _widened, handle, verbose=verbose)


def _left_in_float16() -> Iterator[tuple[Any, str]]:
    yield from ((torch, name) for name in OF_TORCH)
    yield from ((F, name) for name in OF_FUNCTIONAL)
    yield from ((torch.Tensor, name) for name in OF_TENSORS)


def _widened(x: Any, name: str = "", verbose: bool = False) -> Any:
    """Return tensors of low precision in float32, and others as they are, float64 too."""
    if utils.is_nested(x):
        return type(x)([_widened(each, name, verbose) for each in x])
    return utils.maybe_float(x, name, verbose) if x.dtype in (torch.float16, torch.bfloat16) else x
