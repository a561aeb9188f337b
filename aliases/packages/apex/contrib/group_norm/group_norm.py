"""Normalisation of groups of channels, with an activation."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from ...kernels.original import initializer

__all__ = ["GroupNorm"]


def torch_group_norm(
    x: Tensor, g: int, w: Tensor | None, b: Tensor | None, eps: float, act: str | None = ""
) -> Tensor:
    """Normalise groups of channels in the parameters' dtype and apply the activation, like ``GroupNorm``."""
    output = F.group_norm(x if w is None else x.to(w.dtype), g, w, b, eps)
    return (F.silu(output) if act in ("silu", "swish") else output).to(x.dtype)


class GroupNorm(nn.GroupNorm):
    """``torch.nn.GroupNorm`` with an activation, in the parameters' dtype.

    Args (the others are torch's):
        act: ``"silu"`` or ``"swish"``, which are the same, or None.
    """

    @initializer(__name__)
    def __init__(self, act: str | None, **options: Any) -> None:
        super().__init__(**options)
        self.act = act.lower() if act else act

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input of any memory format, in its dtype."""
        return torch_group_norm(input, self.num_groups, self.weight, self.bias, self.eps, self.act)

    def extra_repr(self) -> str:
        """Return the options for ``repr``."""
        return super().extra_repr() + (f", act={self.act}" if self.act else "")
