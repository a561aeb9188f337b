"""Layer normalisation whose parameters record whether sequences are spread over processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from ... import normalization
from ...contrib import layer_norm

__all__ = ["FastLayerNorm", "FusedLayerNorm", "MixedFusedLayerNorm"]


def _mark(module: nn.Module, enabled: bool) -> None:
    for param in module.parameters(recurse=False):
        param.sequence_parallel_enabled = enabled  # type: ignore[attr-defined]


class FusedLayerNorm(normalization.FusedLayerNorm):
    """Layer normalisation; ``sequence_parallel_enabled`` is set on its parameters."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        *,
        sequence_parallel_enabled: bool = False,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        self.sequence_parallel_enabled = sequence_parallel_enabled
        _mark(self, sequence_parallel_enabled)


class MixedFusedLayerNorm(normalization.MixedFusedLayerNorm):
    """Layer normalisation whose output has the parameters' dtype; the attribute is set only if true."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(normalized_shape, eps, **kwargs)
        self.sequence_parallel_enabled = kwargs.get("sequence_parallel_enabled", False)
        if self.sequence_parallel_enabled:
            _mark(self, True)


class FastLayerNorm(layer_norm.FastLayerNorm):
    """Layer normalisation over the last dimension; otherwise like ``FusedLayerNorm``."""

    def __init__(
        self, hidden_size: int, eps: float = 1e-5, *, sequence_parallel_enabled: bool = False
    ) -> None:
        super().__init__(hidden_size, eps)
        self.sequence_parallel_enabled = sequence_parallel_enabled
        _mark(self, sequence_parallel_enabled)
