"""Batch normalisation with the statistics of all processes."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ..kernels.original import initializer


class SyncBatchNorm(nn.SyncBatchNorm):
    """torch's module, which can also take channels last, add another tensor and rectify.

    Args (the others are torch's):
        channel_last: Whether channels are the last dimension instead of the second.
        fuse_relu: Whether the output is rectified.
    """

    @initializer(__name__)
    def __init__(self, channel_last: bool, fuse_relu: bool, **options: Any) -> None:
        super().__init__(**options)
        self.channel_last, self.fuse_relu = channel_last, fuse_relu

    def forward(self, input: Tensor, z: Tensor | None = None) -> Tensor:
        """Return the normalised input; ``z`` is added before the output is rectified."""
        moved = self.channel_last and input.dim() > 2
        output = super().forward(input.movedim(-1, 1) if moved else input)
        output = output.movedim(1, -1) if moved else output
        output = output if z is None else output + z
        return output.relu() if self.fuse_relu else output
