"""The casts of O1: torch's autocast, and apex's additions to it."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.nn import functional as F

from . import utils, wrap

# computed in float32, and therefore impossible in place on a float16 tensor
IN_FLOAT32 = (
    "acos asin cosh cumprod cumsum erfinv exp expm1 log log10 log2 pow reciprocal renorm rsqrt sinh tan"
).split()


def switch_on(handle: Any, verbose: bool = False, allow_banned: bool = False) -> None:
    """Make functions cast their arguments until ``handle`` is deactivated.

    Args:
        handle: Knows whether casts are on, and stores the replaced functions.
        verbose: Whether the casts of wrappers are printed.
        allow_banned: Whether ``binary_cross_entropy`` of float16 is computed in float32 instead of refused.
    """
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.float16)
    # it never ends, so a cached cast of a parameter would outlive the parameter's next update
    torch.set_autocast_cache_enabled(False)
    wrap.cached_cast(torch.Tensor, "cpu", utils.maybe_float, handle, verbose=verbose)
    for name in utils.as_inplace(IN_FLOAT32):
        wrap.err_if_arg0_half(torch.Tensor, name, handle)
    _replace_cross_entropy(handle, allow_banned)


def _replace_cross_entropy(handle: Any, allow_banned: bool) -> None:
    """Make ``binary_cross_entropy``, which torch's autocast always refuses, compute in float32."""
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
