"""Batch normalization, whose running statistics torch_tpu 0.2.0 leaves as they are (over XLA for the CPU)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.grad_mode import _unsafe_preserve_version_counter

KEY = "PrivateUse1"
OPERATORS = ("native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update")


def register(library: torch.library.Library) -> None:
    """Have training update the running statistics, as on CUDA.

    Args:
        library: Of aten's operators.
    """
    for name in OPERATORS:
        kernel = _updating(torch.library.get_kernel(f"aten::{name}", KEY), is_told=name != OPERATORS[2])
        library.impl(name, kernel, KEY, with_keyset=True, allow_override=True)  # type: ignore[no-untyped-call]


def _updating(vendors: Any, *, is_told: bool) -> Callable[..., Any]:
    """Return a kernel of one of the operators.

    Args:
        vendors: The kernel of torch_tpu, which is not given what it might update too.
        is_told: Whether the operator is told that it trains; the other always does.
    """

    def kernel(
        keys: Any,
        batch: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        running_mean: torch.Tensor | None,
        running_var: torch.Tensor | None,
        *options: Any,
    ) -> Any:
        trains = options[0] if is_told else True
        if not trains or running_mean is None or running_var is None:
            return vendors.call_boxed(keys, batch, weight, bias, running_mean, running_var, *options)
        results = vendors.call_boxed(keys, batch, weight, bias, None, None, *options)
        *_, momentum, eps = options
        mean, inverse_deviation = results[1:3]
        count = batch.numel() // batch.shape[1]
        variance = (inverse_deviation.pow(-2) - eps) * (count / max(count - 1, 1))
        # autograd has saved them, and is not told, as on CUDA
        saved = tuple(each for each in (running_mean, running_var) if not each.is_inference())
        with _unsafe_preserve_version_counter(saved):
            for running, new in ((running_mean, mean), (running_var, variance)):
                running.copy_(running.to(new.dtype) * (1 - momentum) + new * momentum)
        return results

    return kernel
