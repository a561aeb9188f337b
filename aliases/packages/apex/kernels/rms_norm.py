"""Normalisation by the root mean square, with this statistic, and gradients from the input or the output."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from .layer_norm import Shape, away_from_zero
from .tensor_lists import check_inputs, check_same_dtype, has_kernel

FUSED = has_kernel("npu::npu_rms_norm", "npu")
"""Whether Ascend's kernel exists; checked once, since torch.compile cannot trace the check."""


def rms_norm(input: Tensor, normalized_shape: Shape, weight: Tensor | None, epsilon: float) -> Tensor:
    """Normalise and scale, with the device's own kernel if it has one; the output has the weight's dtype."""
    if weight is not None and weight.dtype != input.dtype:
        return rms_norm(input.float(), normalized_shape, weight.float(), epsilon).to(weight.dtype)
    if weight is not None and FUSED and input.device.type == "npu":
        output: Tensor = torch.ops.npu.npu_rms_norm(input, weight, epsilon)[0]
        return output
    return F.rms_norm(input, list(normalized_shape), weight, epsilon)


def rms_forward(input: Tensor, normalized_shape: Shape, epsilon: float, /) -> tuple[Tensor, Tensor]:
    """Normalise, like ``layer_norm.forward``, with the inverse root mean square as the only statistic."""
    check_inputs(input=input)
    return _with_inverse(input, normalized_shape, None, epsilon)


def rms_forward_affine(
    input: Tensor, normalized_shape: Shape, gamma: Tensor, epsilon: float, /
) -> tuple[Tensor, Tensor]:
    """Normalise, and scale by ``gamma`` of the input's dtype; otherwise like ``rms_forward``."""
    check_inputs(input=input, gamma=gamma)
    check_same_dtype(input, gamma)
    return _with_inverse(input, normalized_shape, gamma, epsilon)


def rms_forward_affine_mixed_dtypes(
    input: Tensor, normalized_shape: Shape, gamma: Tensor, epsilon: float, /
) -> tuple[Tensor, Tensor]:
    """Do what ``rms_forward_affine`` does, with a weight of another dtype, which the output has too."""
    check_inputs(input=input)
    return _with_inverse(input, normalized_shape, gamma, epsilon)


def rms_backward(
    dout: Tensor,
    invvar: Tensor,
    input_or_output: Tensor,
    normalized_shape: Shape,
    epsilon: float,
    memory_efficient: bool = False,
    /,
) -> Tensor:
    """Compute the gradient of the input, like ``layer_norm.backward``, with the inverse root mean square."""
    check_inputs(dout=dout, invvar=invvar, input_or_output=input_or_output)
    inverse = _spread(invvar, input_or_output, normalized_shape)
    full = _full(input_or_output)
    normalised = full if memory_efficient else full * inverse
    grad = _grad_of_input(_full(dout), normalised, inverse, normalized_shape)
    return grad.to(input_or_output.dtype)


def rms_backward_affine(
    dout: Tensor,
    invvar: Tensor,
    input_or_output: Tensor,
    normalized_shape: Shape,
    gamma: Tensor,
    epsilon: float,
    memory_efficient: bool = False,
    /,
) -> tuple[Tensor, Tensor]:
    """Compute the gradients of the input and of the weight; otherwise like ``rms_backward``."""
    check_inputs(dout=dout, invvar=invvar, input_or_output=input_or_output, gamma=gamma)
    inverse = _spread(invvar, input_or_output, normalized_shape)
    full = _full(input_or_output)
    normalised = full / away_from_zero(gamma, epsilon) if memory_efficient else full * inverse
    outer = list(range(full.dim() - len(normalized_shape)))
    grad = _full(dout)
    grad_gamma = (grad * normalised).sum(outer) if outer else grad * normalised
    grad_input = _grad_of_input(grad * _full(gamma), normalised, inverse, normalized_shape)
    return grad_input.to(input_or_output.dtype), grad_gamma.to(gamma.dtype)


def _grad_of_input(grad: Tensor, normalised: Tensor, inverse: Tensor, shape: Shape) -> Tensor:
    inner = list(range(-len(shape), 0))
    return inverse * (grad - normalised * (grad * normalised).mean(inner, keepdim=True))


def _with_inverse(input: Tensor, shape: Shape, gamma: Tensor | None, epsilon: float) -> tuple[Tensor, Tensor]:
    if gamma is not None and gamma.dtype == input.dtype and FUSED and input.device.type == "npu":
        output, inverse = torch.ops.npu.npu_rms_norm(input, gamma, epsilon)
        return output, inverse.reshape(-1)
    full = _full(input)
    inverse = full.square().mean(list(range(-len(shape), 0)), keepdim=True).add_(epsilon).rsqrt_()
    normalised = full * inverse
    if gamma is None:
        return normalised.to(input.dtype), inverse.reshape(-1)
    return normalised.mul_(gamma).to(gamma.dtype), inverse.reshape(-1)


def _spread(statistic: Tensor, like: Tensor, shape: Shape) -> Tensor:
    return statistic.reshape(*like.shape[: like.dim() - len(shape)], *[1] * len(shape))


def _full(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.float()
