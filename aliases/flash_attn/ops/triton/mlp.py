"""Two linear layers with the square of a ReLU between them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ...calls.checks import on_device
from ...utils.torch import custom_bwd, custom_fwd
from ..activations import sqrelu_bwd, sqrelu_fwd
from ..fused_mlp import two_layers
from .linear import triton_dgrad_act, triton_linear_act

__all__ = [
    "FusedDenseSqreluDense",
    "FusedDenseSqreluDenseFunc",
    "custom_bwd",
    "custom_fwd",
    "fused_dense_sqrelu_dense_function",
    "sqrelu_bwd",
    "sqrelu_fwd",
    "triton_dgrad_act",
    "triton_linear_act",
]


def _apply(
    x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor, checkpoint_lvl: int = 0
) -> Tensor:
    """Apply both layers; ``checkpoint_lvl`` is how much the backward pass computes again."""
    assert checkpoint_lvl in (0, 1, 2)
    return two_layers(x, (weight1, bias1), (weight2, bias2), sqrelu_fwd, checkpoint_lvl)


class FusedDenseSqreluDenseFunc:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(_apply)


fused_dense_sqrelu_dense_function = FusedDenseSqreluDenseFunc.apply


class FusedDenseSqreluDense(nn.Module):
    """Two linear layers with the square of a ReLU between them.

    Args:
        in_features: Of the first layer.
        hidden_features: Between them; None for four times as many.
        out_features: Of the second layer; None for ``in_features``.
        bias1: Must be true.
        bias2: Must be true.
        checkpoint_lvl: What the backward pass computes again: 0 nothing, 1 the activation, 2 also its input.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        bias1: bool = True,
        bias2: bool = True,
        checkpoint_lvl: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        assert checkpoint_lvl in (0, 1, 2)
        super().__init__()
        out_features, hidden_features = out_features or in_features, hidden_features or in_features * 4
        assert bias1, "DenseSqreluDense module without bias is currently not supported"
        assert bias2, "DenseSqreluDense module without bias is currently not supported"
        self.checkpoint_lvl = checkpoint_lvl
        self.fc1 = nn.Linear(in_features, hidden_features, device=device, dtype=dtype)
        self.fc2 = nn.Linear(hidden_features, out_features, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Apply both layers to ``x``, of shape (..., in features)."""
        assert on_device(x)
        first, second = (self.fc1.weight, self.fc1.bias), (self.fc2.weight, self.fc2.bias)
        return fused_dense_sqrelu_dense_function(x, *first, *second, self.checkpoint_lvl)
