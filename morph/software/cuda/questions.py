"""Questions that torch answers by every kernel that is registered, the fallback of the device among them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

# the keys of kernels that serve CUDA; a fallback serves it too, which here computes on the host
_SERVING = (
    "CUDA",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)


def names() -> dict[str, Any]:
    """Return the names of ``torch._C``, which answer as in a build for CUDA."""
    name = "_dispatch_has_computed_kernel_for_dispatch_key"
    return {name: _with_own_kernel(getattr(torch._C, name))}


def _with_own_kernel(has_kernel: Callable[..., bool]) -> Callable[..., bool]:
    """Return whether an operator is served, by more than the fallback if it is not one of torch's."""

    @functools.wraps(has_kernel)
    def has_computed_kernel(name: str, key: str) -> bool:
        found = has_kernel(name, key)
        if not found or key != "CUDA" or name.startswith("aten::"):
            return found
        own: Callable[..., bool] = torch._C._dispatch_has_kernel_for_dispatch_key
        return any(own(name, each) for each in _SERVING)

    return has_computed_kernel
