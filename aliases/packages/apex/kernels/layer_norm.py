"""Layer normalisation, with its statistics, and its gradients from the input or from the output."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from .tensor_lists import LOW_PRECISION, check_inputs, check_same_dtype

Shape = Sequence[int]
Statistics = tuple[Tensor, Tensor, Tensor]


def layer_norm(
    input: Tensor, normalized_shape: Shape, weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> Tensor:
    """Normalise, scale and shift with torch's own function; the output has the parameters' dtype."""
    shape = list(normalized_shape)
    if weight is None or bias is None or weight.dtype == input.dtype:
        return F.layer_norm(input, shape, weight, bias, epsilon)
    return F.layer_norm(input.float(), shape, weight.float(), bias.float(), epsilon).to(weight.dtype)


def forward(input: Tensor, normalized_shape: Shape, epsilon: float, /) -> Statistics:
    """Normalise.

    Args:
        input: Of any shape (..., *normalized_shape), contiguous.
        normalized_shape: The trailing dimensions that are normalised together.
        epsilon: Added to the variance.

    Returns:
        The output, of the input's shape and dtype, and the mean and the inverse standard deviation, of
        shape (n,), in float32 where the input has less.

    Raises:
        RuntimeError: If the input is on another device, or its shape does not match.
    """
    check_inputs(input=input)
    return _normalised(input, normalized_shape, None, None, epsilon)


def forward_affine(
    input: Tensor, normalized_shape: Shape, gamma: Tensor, beta: Tensor, epsilon: float, /
) -> Statistics:
    """Normalise, scale by ``gamma`` and shift by ``beta`` (the input's dtype); otherwise like ``forward``."""
    check_inputs(input=input, gamma=gamma, beta=beta)
    check_same_dtype(input, gamma, beta)
    return _normalised(input, normalized_shape, gamma, beta, epsilon)


def forward_affine_mixed_dtypes(
    input: Tensor, normalized_shape: Shape, gamma: Tensor, beta: Tensor, epsilon: float, /
) -> Statistics:
    """Do what ``forward_affine`` does, with parameters of another dtype, which the output has too."""
    check_inputs(input=input)
    check_same_dtype(gamma, beta)
    if gamma.dtype == input.dtype:
        return _normalised(input, normalized_shape, gamma, beta, epsilon)
    output, mean, invvar = _normalised(input.float(), normalized_shape, gamma.float(), beta.float(), epsilon)
    return output.to(gamma.dtype), mean, invvar


def backward(
    dout: Tensor,
    mean: Tensor | None,
    invvar: Tensor,
    input_or_output: Tensor,
    normalized_shape: Shape,
    epsilon: float,
    memory_efficient: bool = False,
    /,
) -> Tensor:
    """Compute the gradient of the input, of its shape and dtype.

    Args:
        dout: The gradient of the output.
        mean: The mean, of shape (n,); not needed with the output.
        invvar: The inverse standard deviation, of shape (n,).
        input_or_output: The input, or the output if ``memory_efficient``.
        normalized_shape: The trailing dimensions that were normalised together.
        epsilon: The value added to the variance.
        memory_efficient: Whether the output is passed instead of the input.
    """
    check_inputs(dout=dout, invvar=invvar, input_or_output=input_or_output)
    normalised = input_or_output if memory_efficient else None
    grad, _, _ = _gradients(dout, mean, invvar, input_or_output, normalized_shape, None, None, normalised)
    return grad.to(input_or_output.dtype)


def backward_affine(
    dout: Tensor,
    mean: Tensor | None,
    invvar: Tensor,
    input_or_output: Tensor,
    normalized_shape: Shape,
    gamma: Tensor,
    beta: Tensor,
    epsilon: float,
    memory_efficient: bool = False,
    /,
) -> Statistics:
    """Compute the gradients of the input and of both parameters; otherwise like ``backward``."""
    check_inputs(dout=dout, invvar=invvar, input_or_output=input_or_output, gamma=gamma, beta=beta)
    normalised = None
    if memory_efficient:
        factor = away_from_zero(gamma, epsilon).reciprocal()
        normalised = torch.addcmul(-beta.float() * factor, input_or_output.float(), factor)
    grads = _gradients(dout, mean, invvar, input_or_output, normalized_shape, gamma, beta, normalised)
    return grads[0].to(input_or_output.dtype), grads[1].to(gamma.dtype), grads[2].to(beta.dtype)


def away_from_zero(gamma: Tensor, epsilon: float) -> Tensor:
    """Return ``gamma`` in float32, with a magnitude of at least ``epsilon``, as a divisor requires."""
    full = gamma.float()
    return torch.where(full >= 0, full.clamp(min=epsilon), full.clamp(max=-epsilon))


def _normalised(
    input: Tensor, shape: Shape, gamma: Tensor | None, beta: Tensor | None, epsilon: float
) -> Statistics:
    output, mean, invvar = torch.native_layer_norm(input, list(shape), gamma, beta, epsilon)
    if input.dtype in LOW_PRECISION:
        mean, invvar = mean.float(), invvar.float()
    return output, mean.reshape(-1), invvar.reshape(-1)


def _gradients(
    dout: Tensor,
    mean: Tensor | None,
    invvar: Tensor,
    input: Tensor,
    shape: Shape,
    gamma: Tensor | None,
    beta: Tensor | None,
    normalised: Tensor | None,
) -> Statistics:
    full = torch.float64 if input.dtype == torch.float64 else torch.float32
    outer = [*input.shape[: input.dim() - len(shape)], *[1] * len(shape)]
    statistics = invvar.to(full).reshape(outer)
    if normalised is not None:  # its mean is 0, and its deviation 1
        input, mean, scale = normalised, torch.zeros_like(statistics), statistics
        statistics = torch.ones_like(statistics)
    else:
        assert mean is not None
        mean, scale = mean.to(full).reshape(outer), None
    weights = [None if each is None else each.to(full) for each in (gamma, beta)]
    grad, grad_gamma, grad_beta = torch.ops.aten.native_layer_norm_backward(
        *(dout.to(full), input.to(full), list(shape), mean, statistics, *weights),
        [True, gamma is not None, beta is not None],
    )
    return grad if scale is None else grad.mul_(scale), grad_gamma, grad_beta
