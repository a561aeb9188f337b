"""Layer normalisation over the last dimension, of any size."""

from __future__ import annotations

import functools
from typing import Any

from torch import Tensor

from ...kernels.norms import layer_norm
from ...normalization.fused_layer_norm import MixedFusedLayerNorm, mixed_dtype_fused_layer_norm_affine


class FastLayerNormFN:
    """Layer normalisation in the parameters' dtype, which torch differentiates."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float, memory_efficient: bool = False
    ) -> Tensor:
        """Return the normalised input; Megatron reads the signature."""
        return layer_norm(x, gamma.shape, gamma, beta, epsilon)

    apply = functools.partial(forward, None)


class FastLayerNorm(MixedFusedLayerNorm):
    """``MixedFusedLayerNorm`` over the last dimension, of any size, where apex supports a list of them."""

    def __init__(self, hidden_size: int, eps: float = 1e-5, memory_efficient: bool = False) -> None:
        super().__init__(hidden_size, eps, memory_efficient=memory_efficient)
        self.epsilon = eps


# private to apex, but NeMo's LayerNorm1P calls it
def _fast_layer_norm(
    x: Tensor, weight: Tensor, bias: Tensor, epsilon: float, memory_efficient: bool
) -> Tensor:
    return mixed_dtype_fused_layer_norm_affine(x, weight, bias, weight.shape, epsilon, memory_efficient)
