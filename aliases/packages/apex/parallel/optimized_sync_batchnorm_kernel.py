"""The autograd function of ``SyncBatchNorm``."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ReduceOp as ReduceOp

from ..kernels import sync_batch_norm as parts


class SyncBatchnormFunction(torch.autograd.Function):
    """Batch normalisation with the statistics of this batch in all processes."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        z: Tensor | None,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_variance: Tensor | None,
        eps: float,
        track_running_stats: bool = True,
        momentum: float = 1.0,
        process_group: Any = None,
        channel_last: bool = False,
        fuse_relu: bool = False,
    ) -> Tensor:
        """Return the output, and update the running statistics in place."""
        channel = -1 if channel_last else 1
        if track_running_stats:
            mean, variance, inv_std, counts = _statistics(input, eps, process_group, channel)
            _blend(running_mean, mean, momentum)
            _blend(running_variance, variance, momentum)
        else:
            assert running_mean is not None
            assert running_variance is not None
            mean, inv_std = running_mean.float(), (running_variance.float() + eps).rsqrt()
            counts = None
        ctx.save_for_backward(input, weight, mean, inv_std, z, bias, counts)
        ctx.process_group, ctx.channel, ctx.fuse_relu = process_group, channel, fuse_relu
        return parts.forward(input, z, mean, inv_std, weight, bias, fuse_relu, channel)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input, of z, and of weight and bias from this process's batch."""
        input, weight, mean, inv_std, z, bias, counts = ctx.saved_tensors
        grad = grad_output
        if ctx.fuse_relu:
            grad = parts.behind_relu(grad, input, z, mean, inv_std, weight, bias, ctx.channel)
        sum_dy, sum_dy_xmu, grad_weight, grad_bias = parts.reduce_bn(
            grad, input, mean, inv_std, weight, ctx.channel
        )
        if counts is None:  # the statistics did not depend on the input
            sum_dy, sum_dy_xmu = torch.zeros_like(sum_dy), torch.zeros_like(sum_dy_xmu)
            counts = torch.ones(1, device=grad.device)
        elif dist.is_initialized():
            combined = torch.cat([sum_dy, sum_dy_xmu])
            dist.all_reduce(combined, ReduceOp.SUM, ctx.process_group)
            sum_dy, sum_dy_xmu = combined.chunk(2)
        grad_input = parts.batchnorm_backward(
            grad, input, mean, inv_std, weight, sum_dy, sum_dy_xmu, counts, ctx.channel
        )
        of_z = grad if ctx.needs_input_grad[1] else None
        of_weight = grad_weight if ctx.needs_input_grad[2] else None
        of_bias = grad_bias if ctx.needs_input_grad[3] else None
        return grad_input, of_z, of_weight, of_bias, *(None,) * 8


def _statistics(input: Tensor, eps: float, group: Any, channel: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return mean, unbiased variance and inverse deviation over all processes, and each one's count."""
    count = input.numel() // input.size(channel)
    mean, variance = parts.welford_mean_var(input, channel)
    own = torch.cat([mean, variance, mean.new_full((1,), count)])
    shares = [own]
    if dist.is_initialized():
        shares = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
        dist.all_gather(shares, own, group)
    if count == 1 and len(shares) < 2:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size{input.size()}"
        )
    means, variances, counts = torch.split(torch.stack(shares), [len(mean), len(mean), 1], dim=1)
    counts = counts.reshape(-1)
    return *parts.welford_parallel(means, variances, counts, eps), counts


def _blend(running: Tensor | None, new: Tensor, momentum: float) -> None:
    if running is not None:
        running.lerp_(new.to(running.dtype), momentum)
