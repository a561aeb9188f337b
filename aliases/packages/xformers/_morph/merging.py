"""Outputs over parts of the keys, combined to the output over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def merged(outs: Tensor | Sequence[Tensor], sums: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Combine outputs, differentiably.

    Args:
        outs: The outputs over parts of the keys, each of shape (batch, queries, ..., size).
        sums: The logarithms of their softmax's sums, each of shape (batch, ..., queries).

    Returns:
        The output, in the dtype of the sums, and the logarithm of its sums. Where no part sees a key these
        are 0 and minus infinity.

    Raises:
        ValueError: If the shapes do not fit.
    """
    parts = outs if isinstance(outs, Tensor) else torch.stack(list(outs))
    logarithms = sums if isinstance(sums, Tensor) else torch.stack(list(sums))
    batch, queries, *heads, _ = parts.shape[1:]
    if logarithms.shape != (len(parts), batch, *heads, queries):
        raise ValueError(f"Incompatible input shapes: {tuple(parts.shape)} {tuple(logarithms.shape)}")
    largest = logarithms.amax(0).detach()
    largest = largest.masked_fill(largest == -torch.inf, 0.0)
    weights = (logarithms - largest).exp()
    total = weights.sum(0)
    by_query = weights.movedim(-1, 2)[..., None]
    out = (parts.to(weights.dtype) * by_query).sum(0) / total.masked_fill(total == 0, 1.0).movedim(-1, 1)[
        ..., None
    ]
    return out, total.log() + largest
