"""Batch normalisation by parts, with the channels in any dimension; all statistics are float32."""

from __future__ import annotations

import torch
from torch import Tensor


def others(input: Tensor, channel: int) -> list[int]:
    """Return the dimensions other than that of the channels."""
    return [dimension for dimension in range(input.dim()) if dimension != channel % input.dim()]


def spread(statistic: Tensor, input: Tensor, channel: int) -> Tensor:
    """Return a statistic of each channel in a shape that goes with the input."""
    shape = [1] * input.dim()
    shape[channel] = -1
    return statistic.reshape(shape)


def mean_var(input: Tensor, channel: int) -> tuple[Tensor, Tensor]:
    """Return the mean and the biased variance of each channel."""
    full = input.float()
    mean = full.mean(others(input, channel))
    centred = full - spread(mean, input, channel)
    return mean, centred.square().mean(others(input, channel))


def normalised(
    input: Tensor,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    channel: int,
) -> Tensor:
    """Return the input normalised, scaled and shifted, in float32."""
    scale = inv_std if weight is None else inv_std * weight.float()
    output = (input.float() - spread(mean, input, channel)) * spread(scale, input, channel)
    return output if bias is None else output + spread(bias.float(), input, channel)


def reduced(
    grad_output: Tensor, input: Tensor, mean: Tensor, inv_std: Tensor, weight: Tensor | None, channel: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the sums over each channel of the gradient, and of its product with the centred input.

    After them come the gradients of weight and bias, in the weight's dtype.
    """
    grad, dimensions = grad_output.float(), others(input, channel)
    total = grad.sum(dimensions)
    product = (grad * (input.float() - spread(mean, input, channel))).sum(dimensions)
    dtype = torch.float32 if weight is None else weight.dtype
    return total, product, (product * inv_std).to(dtype), total.to(dtype)


def grad_of_input(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
    channel: int,
) -> Tensor:
    """Return the gradient of the input, from the sums over each channel of all processes."""
    total = count.sum()
    centred = input.float() - spread(mean, input, channel)
    slope = inv_std.square() * sum_dy_xmu / total
    grad = grad_output.float() - spread(sum_dy / total, input, channel)
    grad = grad - centred * spread(slope, input, channel)
    scale = inv_std if weight is None else inv_std * weight.float()
    return (grad * spread(scale, input, channel)).to(input.dtype)


def forward(
    input: Tensor,
    z: Tensor | None,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    fuse_relu: bool,
    channel: int,
) -> Tensor:
    """Return the input normalised, scaled and shifted, with ``z`` added and rectified, in its dtype."""
    output = normalised(input, mean, inv_std, weight, bias, channel)
    output = output if z is None else output + z
    return (output.relu() if fuse_relu else output).to(input.dtype)


def behind_relu(
    grad_output: Tensor,
    input: Tensor,
    z: Tensor | None,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    channel: int,
) -> Tensor:
    """Return the gradient behind the rectifier of ``forward``."""
    output = normalised(input, mean, inv_std, weight, bias, channel)
    output = output if z is None else output + z
    return torch.where(output > 0, grad_output, torch.zeros_like(grad_output))
