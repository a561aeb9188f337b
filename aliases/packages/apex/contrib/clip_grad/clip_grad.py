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
    """Do what ``torch.nn.utils.clip_grad_norm_`` does."""
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)
