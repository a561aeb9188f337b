"""Layer normalisation over the last dimension, of any size."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ...kernels.layer_norm import backward_affine, forward_affine_mixed_dtypes, layer_norm
from ...normalization.functional import mixed_dtype_fused_layer_norm_affine
from ...normalization.functions import TorchsUnlessSaving, differentiated, kept


class FastLayerNormFN(TorchsUnlessSaving):
    """Layer normalisation: ``apply(x, gamma, beta, epsilon, memory_efficient=False)``."""

    @staticmethod
    def torchs(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor:
        """Return the normalised input, in the parameters' dtype."""
        return layer_norm(x, gamma.shape, gamma, beta, epsilon)

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float, memory_efficient: bool = False
    ) -> Tensor:
        """Return the normalised input, in the parameters' dtype."""
        kernel = forward_affine_mixed_dtypes
        return kept(ctx, kernel, [x, gamma, beta], gamma.shape, epsilon, memory_efficient)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input and of both parameters."""
        return differentiated(ctx, backward_affine, dy)[:-1]


class FastLayerNorm(nn.Module):
    """Layer normalisation over the last dimension.

    Args:
        hidden_size: Its size; any size, whereas apex supports a list of sizes.
        eps: Added to the variance.
        memory_efficient: Whether the output is saved for the backward pass instead of the input.
    """

    def __init__(self, hidden_size: int, eps: float = 1e-5, memory_efficient: bool = False) -> None:
        super().__init__()
        self.epsilon = eps
        self.memory_efficient = memory_efficient
        self.weight = nn.Parameter(torch.empty(hidden_size))
        self.bias = nn.Parameter(torch.empty(hidden_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to one and the bias to zero."""
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised input, in the parameters' dtype."""
        return _fast_layer_norm(x, self.weight, self.bias, self.epsilon, self.memory_efficient)


# private to apex, but NeMo's LayerNorm1P calls it
def _fast_layer_norm(
    x: Tensor, weight: Tensor, bias: Tensor, epsilon: float, memory_efficient: bool
) -> Tensor:
    return mixed_dtype_fused_layer_norm_affine(x, weight, bias, weight.shape, epsilon, memory_efficient)
