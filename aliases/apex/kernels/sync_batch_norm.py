"""Batch normalisation by parts: the statistics, the output, and the sums that its gradients need.

Channels are dimension 1, or the last in the functions called ``..._c_last``. All statistics are float32.
"""

from __future__ import annotations

from torch import Tensor

from . import batch_norm_parts as parts


def welford_mean_var(input: Tensor, /) -> tuple[Tensor, Tensor]:
    """Return the mean and the biased variance of each channel."""
    return parts.mean_var(input, 1)


def welford_mean_var_c_last(input: Tensor, /) -> tuple[Tensor, Tensor]:
    """Do what ``welford_mean_var`` does, with channels last."""
    return parts.mean_var(input, -1)


def welford_parallel(
    means: Tensor, variances: Tensor, counts: Tensor, eps: float, /
) -> tuple[Tensor, Tensor, Tensor]:
    """Combine the statistics of several processes.

    Args:
        means: Of shape (processes, channels).
        variances: The biased ones, of that shape.
        counts: How many values of a channel each process had, of shape (processes,).
        eps: Added to the variance.

    Returns:
        The mean, the unbiased variance and the inverse standard deviation of each channel.
    """
    weights = counts.to(means.dtype).unsqueeze(1)
    total = weights.sum()
    mean = (means * weights).sum(0) / total
    squares = ((variances + (means - mean).square()) * weights).sum(0)
    return mean, squares / (total - 1), (squares / total + eps).rsqrt()


def batchnorm_forward(
    input: Tensor, mean: Tensor, inv_std: Tensor, weight: Tensor | None, bias: Tensor | None, /
) -> Tensor:
    """Return the input normalised, scaled and shifted, in its dtype."""
    return parts.forward(input, None, mean, inv_std, weight, bias, False, 1)


def batchnorm_forward_c_last(
    input: Tensor,
    z: Tensor | None,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    fuse_relu: bool,
    /,
) -> Tensor:
    """Do what ``batchnorm_forward`` does, with channels last; add ``z`` if there is one, and rectify."""
    return parts.forward(input, z, mean, inv_std, weight, bias, fuse_relu, -1)


def relu_bw_c_last(
    grad_output: Tensor,
    input: Tensor,
    z: Tensor | None,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    /,
) -> Tensor:
    """Return the gradient behind the rectifier of ``batchnorm_forward_c_last``."""
    return parts.behind_relu(grad_output, input, z, mean, inv_std, weight, bias, -1)


def reduce_bn(
    grad_output: Tensor, input: Tensor, mean: Tensor, inv_std: Tensor, weight: Tensor | None, /
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sum gradients over each channel.

    Returns:
        The sums of the gradient and of its product with the centred input, in float32, and the gradients
        of weight and bias, in the weight's dtype.
    """
    return parts.reduced(grad_output, input, mean, inv_std, weight, 1)


def reduce_bn_c_last(
    grad_output: Tensor, input: Tensor, mean: Tensor, inv_std: Tensor, weight: Tensor | None, /
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Do what ``reduce_bn`` does, with channels last."""
    return parts.reduced(grad_output, input, mean, inv_std, weight, -1)


def batchnorm_backward(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
    /,
) -> Tensor:
    """Return the gradient of the input.

    Args:
        grad_output: The gradient of the output.
        input: The input.
        mean: The mean of each channel over all processes.
        inv_std: The inverse standard deviation of each channel over all processes.
        weight: What the normalised input was scaled by.
        sum_dy: The gradient's sum over each channel of all processes.
        sum_dy_xmu: The same of its product with the centred input.
        count: How many values of a channel each process had.
    """
    return parts.grad_of_input(grad_output, input, mean, inv_std, weight, sum_dy, sum_dy_xmu, count, 1)


def batchnorm_backward_c_last(
    grad_output: Tensor,
    input: Tensor,
    mean: Tensor,
    inv_std: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
    /,
) -> Tensor:
    """Do what ``batchnorm_backward`` does, with channels last."""
    return parts.grad_of_input(grad_output, input, mean, inv_std, weight, sum_dy, sum_dy_xmu, count, -1)
