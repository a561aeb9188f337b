"""Layer normalisation, and normalisation by the root mean square, with the functions of apex's extension.

The extension's functions normalise the trailing dimensions ``normalized_shape`` of a contiguous input. Each
returns the output, and its statistics of shape (n,), in float32 where the input has less. They raise
``RuntimeError`` if a tensor is on another device, or its shape or dtype does not match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .tensor_lists import LOW_PRECISION, check_inputs, has_kernel

Shape = Sequence[int]

FUSED = has_kernel("npu::npu_rms_norm", "npu")
"""Whether Ascend's kernel exists; checked once, since torch.compile cannot trace the check."""


def layer_norm(
    input: Tensor, normalized_shape: Shape, weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> Tensor:
    """Normalise, scale and shift with torch's own function; the output has the parameters' dtype."""
    shape = list(normalized_shape)
    if weight is None or bias is None or weight.dtype == input.dtype:
        return F.layer_norm(input, shape, weight, bias, epsilon)
    return F.layer_norm(input.float(), shape, weight.float(), bias.float(), epsilon).to(weight.dtype)


def rms_norm(input: Tensor, normalized_shape: Shape, weight: Tensor | None, epsilon: float) -> Tensor:
    """Normalise and scale, with the device's own kernel if it has one; the output has the weight's dtype."""
    if weight is not None and weight.dtype != input.dtype:
        return rms_norm(input.float(), normalized_shape, weight.float(), epsilon).to(weight.dtype)
    if weight is not None and FUSED and input.device.type == "npu":
        output: Tensor = torch.ops.npu.npu_rms_norm(input, weight, epsilon)[0]
        return output
    return F.rms_norm(input, list(normalized_shape), weight, epsilon)


def forward(input: Tensor, normalized_shape: Shape, epsilon: float, /) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise; the statistics are the mean and the inverse standard deviation."""
    return _with_statistics(input, normalized_shape, None, None, epsilon)


def forward_affine(
    input: Tensor, normalized_shape: Shape, gamma: Tensor, beta: Tensor, epsilon: float, /
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise, scale by ``gamma`` and shift by ``beta``, whose dtype the output has."""
    check_inputs(input=input, gamma=gamma, beta=beta)
    if gamma.dtype == input.dtype:
        return _with_statistics(input, normalized_shape, gamma, beta, epsilon)
    given = input.float(), normalized_shape, gamma.float(), beta.float(), epsilon
    output, mean, invvar = _with_statistics(*given)
    return output.to(gamma.dtype), mean, invvar


forward_affine_mixed_dtypes = forward_affine


def _with_statistics(
    input: Tensor, shape: Shape, gamma: Tensor | None, beta: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    check_inputs(input=input)
    output, mean, invvar = torch.native_layer_norm(input, list(shape), gamma, beta, epsilon)
    if input.dtype in LOW_PRECISION:
        mean, invvar = mean.float(), invvar.float()
    return output, mean.reshape(-1), invvar.reshape(-1)


def rms_forward(input: Tensor, normalized_shape: Shape, epsilon: float, /) -> tuple[Tensor, Tensor]:
    """Normalise; the statistic is the inverse root mean square."""
    check_inputs(input=input)
    return rms_norm(input, normalized_shape, None, epsilon), _inverse(input, normalized_shape, epsilon)


def rms_forward_affine(
    input: Tensor, normalized_shape: Shape, gamma: Tensor, epsilon: float, /
) -> tuple[Tensor, Tensor]:
    """Normalise, and scale by ``gamma``, whose dtype the output has."""
    check_inputs(input=input, gamma=gamma)
    return rms_norm(input, normalized_shape, gamma, epsilon), _inverse(input, normalized_shape, epsilon)


rms_forward_affine_mixed_dtypes = rms_forward_affine


def _inverse(input: Tensor, shape: Shape, epsilon: float) -> Tensor:
    full = input.float() if input.dtype in LOW_PRECISION else input
    return full.square().mean(list(range(-len(shape), 0))).add_(epsilon).rsqrt_().reshape(-1)


def gradients(function: Callable[..., Tensor], dout: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients of tensors from that of a function's output, which is computed anew."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    with torch.enable_grad():
        output = function(*leaves)
    return torch.autograd.grad(output, leaves, dout.to(output.dtype))


def backward(
    dout: Tensor, mean: Tensor, invvar: Tensor, input: Tensor, normalized_shape: Shape, epsilon: float, /
) -> Tensor:
    """Return the gradient of the input of ``forward``; it needs no statistics."""
    return gradients(lambda x: layer_norm(x, normalized_shape, None, None, epsilon), dout, input)[0]


def backward_affine(
    dout: Tensor, mean: Tensor, invvar: Tensor, input: Tensor, normalized_shape: Shape, *rest: Any
) -> tuple[Tensor, ...]:
    """Return the gradients of the input and of both parameters of ``forward_affine``, from its arguments."""
    gamma, beta, epsilon = rest
    return gradients(lambda x, w, b: layer_norm(x, normalized_shape, w, b, epsilon), dout, input, gamma, beta)


def rms_backward(
    dout: Tensor, invvar: Tensor, input: Tensor, normalized_shape: Shape, epsilon: float, /
) -> Tensor:
    """Return the gradient of the input of ``rms_forward``."""
    return gradients(lambda x: rms_norm(x, normalized_shape, None, epsilon), dout, input)[0]


def rms_backward_affine(
    dout: Tensor, invvar: Tensor, input: Tensor, normalized_shape: Shape, gamma: Tensor, epsilon: float, /
) -> tuple[Tensor, ...]:
    """Return the gradients of the input and of the weight of ``rms_forward_affine``."""
    return gradients(lambda x, weight: rms_norm(x, normalized_shape, weight, epsilon), dout, input, gamma)
