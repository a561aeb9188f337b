"""Batch normalisation in parts: the statistics, the output, and the sums that its gradients need.

Channels are dimension 1, or the one in the argument ``channel``, for which apex has functions called
``..._c_last``. All statistics are float32.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor


def _others(input: Tensor, channel: int) -> list[int]:
    return [dimension for dimension in range(input.dim()) if dimension != channel % input.dim()]


def _spread(statistic: Tensor, input: Tensor, channel: int) -> Tensor:
    """Return a statistic of each channel in a shape that broadcasts with the input."""
    shape = [1] * input.dim()
    shape[channel] = -1
    return statistic.reshape(shape)


def welford_mean_var(input: Tensor, channel: int = 1) -> tuple[Tensor, Tensor]:
    """Return the mean and the biased variance of each channel."""
    full = input.float()
    mean = full.mean(_others(input, channel))
    centred = full - _spread(mean, input, channel)
    return mean, centred.square().mean(_others(input, channel))


def welford_parallel(
    means: Tensor, variances: Tensor, counts: Tensor, eps: float, /
) -> tuple[Tensor, Tensor, Tensor]:
    """Combine the statistics of several processes.

    Args:
        means: Of shape (processes, channels).
        variances: The biased variances, of the same shape.
        counts: The number of values per channel in each process, of shape (processes,).
        eps: Added to the variance.

    Returns:
        The mean, the unbiased variance and the inverse standard deviation of each channel.
    """
    weights = counts.to(means.dtype).unsqueeze(1)
    total = weights.sum()
    mean = (means * weights).sum(0) / total
    squares = ((variances + (means - mean).square()) * weights).sum(0)
    return mean, squares / (total - 1), (squares / total + eps).rsqrt()


def _normalised(
    input: Tensor,
    z: Tensor | None,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    channel: int,
) -> Tensor:
    scale = inv_std if weight is None else inv_std * weight.float()
    output = (input.float() - _spread(mean, input, channel)) * _spread(scale, input, channel)
    output = output if bias is None else output + _spread(bias.float(), input, channel)
    return output if z is None else output + z


def batchnorm_forward(
    input: Tensor, mean: Tensor, inv_std: Tensor, weight: Tensor | None, bias: Tensor | None, /
) -> Tensor:
    """Return the input normalised, scaled and shifted, in its dtype."""
    return forward(input, None, mean, inv_std, weight, bias, False, 1)


def forward(
    input: Tensor,
    z: Tensor | None,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    fuse_relu: bool,
    channel: int = -1,
) -> Tensor:
    """Do what ``batchnorm_forward`` does, add ``z`` if there is one, and rectify."""
    output = _normalised(input, z, mean, inv_std, weight, bias, channel)
    return (output.relu() if fuse_relu else output).to(input.dtype)


def behind_relu(
    grad_output: Tensor,
    input: Tensor,
    z: Tensor | None,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    channel: int = -1,
) -> Tensor:
    """Return the gradient of the rectifier's input in ``forward``."""
    output = _normalised(input, z, mean, inv_std, weight, bias, channel)
    return torch.where(output > 0, grad_output, torch.zeros_like(grad_output))


def reduce_bn(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    channel: int = 1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sum gradients over each channel.

    Returns:
        The sums of the gradient and of its product with the centred input, in float32, and the gradients
        of weight and bias, in the weight's dtype.
    """
    grad, dimensions = grad_output.float(), _others(input, channel)
    total = grad.sum(dimensions)
    product = (grad * (input.float() - _spread(mean, input, channel))).sum(dimensions)
    dtype = torch.float32 if weight is None else weight.dtype
    return total, product, (product * inv_std).to(dtype), total.to(dtype)


def batchnorm_backward(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
    channel: int = 1,
) -> Tensor:
    """Return the gradient of the input.

    Args:
        grad_output: The gradient of the output.
        input: The input.
        mean: The mean of each channel over all processes.
        inv_std: The inverse standard deviation of each channel over all processes.
        weight: The factor of the normalised input.
        sum_dy: The gradient's sum over each channel of all processes.
        sum_dy_xmu: The same sum of its product with the centred input.
        count: The number of values per channel in each process.
        channel: The dimension of the channels.
    """
    total = count.sum()
    centred = input.float() - _spread(mean, input, channel)
    slope = inv_std.square() * sum_dy_xmu / total
    grad = grad_output.float() - _spread(sum_dy / total, input, channel)
    grad = grad - centred * _spread(slope, input, channel)
    scale = inv_std if weight is None else inv_std * weight.float()
    return (grad * _spread(scale, input, channel)).to(input.dtype)


batchnorm_forward_c_last, relu_bw_c_last = forward, behind_relu
welford_mean_var_c_last = functools.partial(welford_mean_var, channel=-1)
reduce_bn_c_last = functools.partial(reduce_bn, channel=-1)
batchnorm_backward_c_last = functools.partial(batchnorm_backward, channel=-1)
