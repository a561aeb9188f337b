"""Layer normalisation over the last dimension, of any size."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ...kernels.layer_norm import layer_norm, ln_bwd, ln_fwd
from ...normalization.functional import mixed_dtype_fused_layer_norm_affine
from ...normalization.functions import TorchsUnlessSaving


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
        gamma, beta = gamma.contiguous(), beta.contiguous()
        rows = x.contiguous().view(-1, gamma.numel())
        output, mean, inverse = ln_fwd(rows, gamma, beta, epsilon)
        if memory_efficient:
            ctx.save_for_backward(output, gamma, None, inverse, beta)
        else:
            ctx.save_for_backward(rows, gamma, mean, inverse, None)
        ctx.x_shape, ctx.memory_efficient = x.shape, memory_efficient
        return output.view(x.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input and of both parameters."""
        kept, gamma, mean, inverse, beta = ctx.saved_tensors
        rows = dy.contiguous().view(kept.shape)
        dx, dgamma, dbeta, _, _ = ln_bwd(rows, kept, mean, inverse, gamma, beta, ctx.memory_efficient)
        return dx.view(ctx.x_shape), dgamma, dbeta, None, None


class FastLayerNorm(nn.Module):
    """Layer normalisation over the last dimension.

    Args:
        hidden_size: Its size; any, where apex knows a list of sizes.
        eps: Added to the variance.
        memory_efficient: Whether the output is kept for the backward pass, and not the input.
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
