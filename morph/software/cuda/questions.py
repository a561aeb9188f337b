"""Questions whose answers in a build for CPUs are not those in a build for CUDA."""

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
    answers = {
        "_dispatch_has_computed_kernel_for_dispatch_key": _with_own_kernel,
        "_select_conv_backend": _with_cudnn,
    }
    return {name: answer(getattr(torch._C, name)) for name, answer in answers.items()}


def _with_cudnn(select: Callable[..., Any]) -> Callable[..., Any]:
    """Return which library computes a convolution: cuDNN where a build for CPUs has its own slow loops.

    As ``select_conv_backend`` of ``aten/src/ATen/native/Convolution.cpp`` decides.
    """
    backends: Any = torch._C._ConvBackend  # type: ignore[attr-defined]

    @functools.wraps(select)
    def select_conv_backend(*args: Any, **kwargs: Any) -> Any:
        chosen = select(*args, **kwargs)
        given = kwargs["input"] if "input" in kwargs else args[0]
        is_slow = chosen.name.startswith("Slow")
        if not (is_slow and given.is_cuda and torch.backends.cudnn.enabled):
            return chosen
        return backends.CudnnTranspose if "Transpose" in chosen.name else backends.Cudnn

    return select_conv_backend


def _with_own_kernel(has_kernel: Callable[..., bool]) -> Callable[..., bool]:
    """Return whether an operator is served, by more than the fallback if it is not one of torch's.

    The fallback of the device is a kernel for every operator.
    """

    @functools.wraps(has_kernel)
    def has_computed_kernel(name: str, key: str) -> bool:
        found = has_kernel(name, key)
        if not found or key != "CUDA" or name.startswith("aten::"):
            return found
        own: Callable[..., bool] = torch._C._dispatch_has_kernel_for_dispatch_key
        return any(own(name, each) for each in _SERVING)

    return has_computed_kernel
