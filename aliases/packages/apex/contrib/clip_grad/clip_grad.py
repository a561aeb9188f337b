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
    """Scale gradients in place, so that the norm of all together is at most ``max_norm``.

    Args:
        parameters: A parameter, or several.
        max_norm: What the norm is clipped to.
        norm_type: The order of the norm.
        error_if_nonfinite: Whether a norm that is not finite is an error, or scales the gradients too.

    Returns:
        The norm before.

    Raises:
        RuntimeError: If the norm is not finite, and that is to be an error.
    """
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with_grads = [param for param in given if param.grad is not None]
    if not with_grads:
        return torch.tensor(0.0)
    # torch takes its multi-tensor kernels where the device has them
    return torch.nn.utils.clip_grad_norm_(
        with_grads, float(max_norm), norm_type=float(norm_type), error_if_nonfinite=error_if_nonfinite
    )
