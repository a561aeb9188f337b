"""Concatenates tensors and splits them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch._utils
from torch import Tensor

_flatten: Any = torch._utils._flatten_dense_tensors
_unflatten: Any = torch._utils._unflatten_dense_tensors


def flatten(bucket: Sequence[Tensor]) -> Tensor:
    """Return the elements of all tensors, which must have one type, in one dimension."""
    flat: Tensor = _flatten(bucket)
    return flat


def unflatten(coalesced: Tensor, bucket: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return views of a flat tensor with the shapes of the tensors in ``bucket``."""
    views: tuple[Tensor, ...] = _unflatten(coalesced, bucket)
    return views
