"""Clipping of the norm of gradients."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ...multi_tensor_apply import multi_tensor_applier as multi_tensor_applier


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale gradients in place so that their total norm is at most ``max_norm``.

    Args:
        parameters: A parameter, or several.
        max_norm: The maximum norm.
        norm_type: The order of the norm.
        error_if_nonfinite: Whether a norm that is not finite is an error, or scales the gradients too.

    Returns:
        The norm before clipping.

    Raises:
        RuntimeError: If the norm is not finite and ``error_if_nonfinite`` is true.
    """
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with_grads = [param for param in given if param.grad is not None]
    if not with_grads:
        return torch.tensor(0.0)
    # torch uses its multi-tensor kernels if the device has them
    return torch.nn.utils.clip_grad_norm_(
        with_grads, float(max_norm), norm_type=float(norm_type), error_if_nonfinite=error_if_nonfinite
    )
