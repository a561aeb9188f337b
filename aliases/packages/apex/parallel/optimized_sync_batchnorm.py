"""Batch normalisation with the statistics of all processes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .optimized_sync_batchnorm_kernel import SyncBatchnormFunction as SyncBatchnormFunction


class SyncBatchNorm(nn.modules.batchnorm._BatchNorm):
    """Batch normalisation over the batches of all processes.

    Args:
        num_features: The number of channels.
        eps: Added to the variance.
        momentum: How much of the running statistics a batch replaces; None for their average.
        affine: Whether there are weight and bias.
        track_running_stats: Whether there are running statistics, which evaluation uses.
        process_group: The processes; None for all.
        channel_last: Whether channels are the last dimension instead of the second.
        fuse_relu: Whether the output is rectified.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        channel_last: bool = False,
        fuse_relu: bool = False,
    ) -> None:
        super().__init__(
            num_features, eps=eps, momentum=momentum, affine=affine, track_running_stats=track_running_stats
        )
        self.process_group = process_group
        self.channel_last = channel_last
        self.fuse_relu = fuse_relu

    def _specify_process_group(self, process_group: Any) -> None:
        self.process_group = process_group

    def _specify_channel_last(self, channel_last: bool) -> None:
        self.channel_last = channel_last

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor, z: Tensor | None = None) -> Tensor:
        """Normalise.

        Args:
            input: Of shape (N, channels, ...), or (N, ..., channels) if ``channel_last``.
            z: A tensor to add before the output is rectified, of the same shape.

        Returns:
            The output, of the input's shape and dtype.

        Raises:
            ValueError: If a channel has only one value in training.
        """
        self._check_input_dim(input)
        if not self.training and self.track_running_stats:
            return self._by_running_statistics(input, z)
        factor = 0.0
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            factor = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        return SyncBatchnormFunction.apply(  # type: ignore[no-any-return, no-untyped-call]
            *(input, z, self.weight, self.bias, self.running_mean, self.running_var, self.eps, True, factor),
            *(self.process_group, self._channels_are_last(input), self.fuse_relu),
        )

    def _channels_are_last(self, input: Tensor) -> bool:
        return self.channel_last or input.dim() == 2

    def _by_running_statistics(self, input: Tensor, z: Tensor | None) -> Tensor:
        moved = self._channels_are_last(input) and input.dim() > 2
        channels_first = input.movedim(-1, 1) if moved else input
        statistics = self.running_mean, self.running_var, self.weight, self.bias
        output = F.batch_norm(channels_first, *statistics, False, 0.0, self.eps)
        output = output.movedim(1, -1) if moved else output
        output = output if z is None else output + z
        return torch.relu(output) if self.fuse_relu else output
