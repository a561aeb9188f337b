"""The casts of O1: torch's autocast, and what apex does beyond it."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.nn import functional as F

from . import utils, wrap

# what is computed in float32, and so cannot be written over a tensor of float16
IN_FLOAT32 = (
    "acos asin cosh cumprod cumsum erfinv exp expm1 log log10 log2 pow reciprocal renorm rsqrt sinh tan"
).split()


def switch_on(handle: Any, verbose: bool = False, allow_banned: bool = False) -> None:
    """Have functions cast their arguments, until ``handle`` is deactivated.

    Args:
        handle: Says whether casts are on, and remembers what was replaced.
        verbose: Whether the casts of wrappers are printed.
        allow_banned: Whether ``binary_cross_entropy`` of float16 is computed in float32, and not refused.
    """
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.float16)
    # it never ends, so what it keeps of a parameter would outlive the parameter's next update
    torch.set_autocast_cache_enabled(False)
    wrap.cached_cast(torch.Tensor, "cpu", utils.maybe_float, handle, verbose=verbose)
    for name in utils.as_inplace(IN_FLOAT32):
        wrap.err_if_arg0_half(torch.Tensor, name, handle)
    _replace_cross_entropy(handle, allow_banned)


def _replace_cross_entropy(handle: Any, allow_banned: bool) -> None:
    """Have ``binary_cross_entropy`` computed in float32, which torch's autocast refuses altogether."""
    own = F.binary_cross_entropy

    @functools.wraps(own)
    def binary_cross_entropy(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not handle.is_active():
            return own(input, *args, **kwargs)
        if input.dtype == torch.float16 and not allow_banned:
            raise NotImplementedError(
                "amp: binary_cross_entropy and BCELoss are unsafe in float16; use "
                "binary_cross_entropy_with_logits or BCEWithLogitsLoss, give them float32, or say "
                "amp.init(allow_banned=True)"
            )
        with handle._disable_casts():
            return own(*utils.casted_args(utils.maybe_float, (input, *args), kwargs), **kwargs)

    utils.set_func_save(handle, F, "binary_cross_entropy", binary_cross_entropy)
