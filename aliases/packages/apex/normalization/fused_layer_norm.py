"""The modules, and the functions, by torch's kernels or the device's own.

``memory_efficient`` changes nothing: torch's kernels keep the input for the backward pass.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._autocast_utils import cast_by_autocast
from ..kernels.norms import layer_norm, rms_norm
from ..kernels.tensor_lists import check_same_dtype

Shape = Sequence[int]


@cast_by_autocast
def fused_layer_norm(
    input: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Normalise the trailing dimensions ``normalized_shape``, in the input's dtype, or in autocast's."""
    return layer_norm(input, normalized_shape, None, None, eps)


@cast_by_autocast
def fused_layer_norm_affine(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:
    """Normalise, scale by ``weight`` and shift by ``bias`` of the input's dtype.

    Raises:
        RuntimeError: If dtypes differ.
    """
    check_same_dtype(input, weight, bias)
    return layer_norm(input, normalized_shape, weight, bias, eps)


@cast_by_autocast
def mixed_dtype_fused_layer_norm_affine(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:
    """Do what ``fused_layer_norm_affine`` does, with an output of the parameters' dtype."""
    return layer_norm(input, normalized_shape, weight, bias, eps)


@cast_by_autocast
def fused_rms_norm(
    input: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Normalise by the root mean square; otherwise like ``fused_layer_norm``."""
    return rms_norm(input, normalized_shape, None, eps)


@cast_by_autocast
def fused_rms_norm_affine(
    input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Normalise by the root mean square, and scale; otherwise like ``fused_layer_norm_affine``."""
    check_same_dtype(input, weight)
    return rms_norm(input, normalized_shape, weight, eps)


@cast_by_autocast
def mixed_dtype_fused_rms_norm_affine(
    input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Do what ``fused_rms_norm_affine`` does, with an output of the weight's dtype."""
    return rms_norm(input, normalized_shape, weight, eps)


class FusedLayerNormAffineFunction:
    """Layer normalisation, which torch differentiates; the output has the parameters' dtype."""

    apply: Any = staticmethod(inspect.unwrap(mixed_dtype_fused_layer_norm_affine))

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor,
        bias: Tensor,
        normalized_shape: Shape,
        eps: float,
        memory_efficient: bool = False,
    ) -> Tensor:
        """Return the normalised input, scaled and shifted; Megatron reads the signature."""
        return layer_norm(input, normalized_shape, weight, bias, eps)


class _Norm:
    """The arguments of torch's modules, and ``memory_efficient``, which is accepted without effect."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)  # type: ignore[call-arg]
        self.memory_efficient = memory_efficient


class FusedLayerNorm(_Norm, nn.LayerNorm):
    """torch's module, which casts as autocast would."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, in its dtype."""
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
        if not self.elementwise_affine:
            return fused_layer_norm(input, self.normalized_shape, self.eps)
        return fused_layer_norm_affine(input, self.weight, self.bias, self.normalized_shape, self.eps)


class FusedRMSNorm(_Norm, nn.RMSNorm):
    """torch's module, which casts as autocast would."""

    eps: float

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, in its dtype."""
        if not self.elementwise_affine:
            return fused_rms_norm(input, self.normalized_shape, self.eps)
        return fused_rms_norm_affine(input, self.weight, self.normalized_shape, self.eps)


class _Mixed:
    """The arguments of the modules below; ``elementwise_affine`` must be true."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, *, memory_efficient: bool = False, **kwargs: Any
    ) -> None:
        if "elementwise_affine" in kwargs:
            name = type(self).__name__
            warnings.warn(f"{name} does not support `elementwise_affine` argument", stacklevel=2)
            if not kwargs["elementwise_affine"]:
                raise RuntimeError(f"{name} does not support `elementwise_affine = False`")
        super().__init__(normalized_shape, eps, True, memory_efficient)  # type: ignore[call-arg]


class MixedFusedLayerNorm(_Mixed, FusedLayerNorm):
    """Layer normalisation whose output has the parameters' dtype."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, in the parameters' dtype."""
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
        shape, eps = self.normalized_shape, self.eps
        return mixed_dtype_fused_layer_norm_affine(input, self.weight, self.bias, shape, eps)


class MixedFusedRMSNorm(_Mixed, FusedRMSNorm):
    """Normalisation by the root mean square whose output has the weight's dtype."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, in the weight's dtype."""
        return mixed_dtype_fused_rms_norm_affine(input, self.weight, self.normalized_shape, self.eps)
