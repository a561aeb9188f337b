"""The functions, which use torch's own kernels unless they should save memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .._autocast_utils import _cast_if_autocast_enabled, in_autocast
from ..kernels.layer_norm import layer_norm
from ..kernels.rms_norm import rms_norm
from ..kernels.tensor_lists import check_same_dtype
from . import functions

Shape = Sequence[int]


def fused_layer_norm(
    input: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Normalise over the trailing dimensions.

    Args:
        input: Of shape (..., *normalized_shape).
        normalized_shape: The dimensions that are normalised together.
        eps: Added to the variance.
        memory_efficient: Whether the output is saved for the backward pass instead of the input.

    Returns:
        The output, in the input's dtype, or in autocast's.
    """
    if in_autocast():
        return _cast(fused_layer_norm, input, normalized_shape, eps, memory_efficient)
    if memory_efficient:
        return _applied(functions.FusedLayerNormFunction, input, normalized_shape, eps, True)
    return F.layer_norm(input, list(normalized_shape), None, None, eps)


def fused_layer_norm_affine(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:
    """Do what ``fused_layer_norm`` does, and scale by ``weight`` and shift by ``bias``, of the input's dtype.

    Raises:
        RuntimeError: If dtypes differ.
    """
    if in_autocast():
        return _cast(fused_layer_norm_affine, input, weight, bias, normalized_shape, eps, memory_efficient)
    if not input.dtype == weight.dtype == bias.dtype:
        check_same_dtype(input, weight, bias)
    if memory_efficient:
        function = functions.FusedLayerNormAffineFunction
        return _applied(function, input, weight, bias, normalized_shape, eps, True)
    return F.layer_norm(input, list(normalized_shape), weight, bias, eps)


def mixed_dtype_fused_layer_norm_affine(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:
    """Do what ``fused_layer_norm_affine`` does, with an output of the parameters' dtype."""
    if in_autocast():
        function = mixed_dtype_fused_layer_norm_affine
        return _cast(function, input, weight, bias, normalized_shape, eps, memory_efficient)
    if memory_efficient:
        mixed = functions.FusedLayerNormAffineMixedDtypesFunction
        return _applied(mixed, input, weight, bias, normalized_shape, eps, True)
    return layer_norm(input, normalized_shape, weight, bias, eps)


def fused_rms_norm(
    input: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Normalise by the root mean square over the trailing dimensions; otherwise like ``fused_layer_norm``."""
    if in_autocast():
        return _cast(fused_rms_norm, input, normalized_shape, eps, memory_efficient)
    if memory_efficient:
        return _applied(functions.FusedRMSNormFunction, input, normalized_shape, eps, True)
    return F.rms_norm(input, list(normalized_shape), None, eps)


def fused_rms_norm_affine(
    input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Normalise by the root mean square, and scale; otherwise like ``fused_layer_norm_affine``."""
    if in_autocast():
        return _cast(fused_rms_norm_affine, input, weight, normalized_shape, eps, memory_efficient)
    if input.dtype != weight.dtype:
        check_same_dtype(input, weight)
    if memory_efficient:
        return _applied(functions.FusedRMSNormAffineFunction, input, weight, normalized_shape, eps, True)
    return rms_norm(input, normalized_shape, weight, eps)


def mixed_dtype_fused_rms_norm_affine(
    input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Do what ``fused_rms_norm_affine`` does, with an output of the weight's dtype."""
    if in_autocast():
        function = mixed_dtype_fused_rms_norm_affine
        return _cast(function, input, weight, normalized_shape, eps, memory_efficient)
    if memory_efficient:
        mixed = functions.FusedRMSNormAffineMixedDtypesFunction
        return _applied(mixed, input, weight, normalized_shape, eps, True)
    return rms_norm(input, normalized_shape, weight, eps)


def manual_rms_norm(input: Tensor, normalized_shape: Shape, weight: Tensor | None, eps: float) -> Tensor:
    """Normalise by the root mean square with separate operations.

    Args:
        input: Of shape (..., *normalized_shape).
        normalized_shape: The dimensions that are normalised together.
        weight: The factor of the output, which gets its dtype if that is a low precision.
        eps: Added to the mean square.

    Returns:
        The output.
    """
    dimensions = list(range(-len(normalized_shape), 0))
    mean_square = input.float().square().mean(dimensions, keepdim=True)
    output = input * torch.rsqrt(mean_square + eps)
    if weight is None:
        return output
    if weight.dtype in (torch.float16, torch.bfloat16):
        output = output.to(weight.dtype)
    return weight * output


def _cast(function: Callable[..., Tensor], *args: Any) -> Tensor:
    """Cast the arguments as autocast would, and call the function outside autocast."""
    args = _cast_if_autocast_enabled(*args)
    with torch.amp.autocast("cuda", enabled=False):
        return function(*args)


def _applied(function: Any, *args: Any) -> Tensor:
    output: Tensor = function.apply(*args)
    return output
