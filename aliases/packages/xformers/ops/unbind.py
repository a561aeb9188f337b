"""The parts of a tensor along one dimension."""

from __future__ import annotations

from torch import Tensor


def unbind(x: Tensor, dim: int) -> tuple[Tensor, ...]:
    """Return the parts of ``x`` along ``dim``, as torch.unbind does."""
    return x.unbind(dim)
