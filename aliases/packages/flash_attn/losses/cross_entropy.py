"""Cross entropy as a module."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from .._morph.checks import on_device
from ..ops.triton.cross_entropy import cross_entropy_loss


class CrossEntropyLoss(nn.Module):
    """Cross entropy with label smoothing, scaled logits, z-loss, and a vocabulary spread over processes.

    See :func:`flash_attn.ops.triton.cross_entropy.cross_entropy_loss` for the options. ``reduction`` is
    ``"mean"`` over the rows that have a loss, ``"sum"`` or ``"none"``.
    """

    def __init__(
        self,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        logit_scale: float = 1.0,
        lse_square_scale: float = 0.0,
        inplace_backward: bool = False,
        process_group: Any = None,
        return_z_loss: bool = False,
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "none", "sum"):
            raise NotImplementedError("Only support reduction = 'mean' or 'none' or 'sum'")
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing
        self.logit_scale = logit_scale
        self.lse_square_scale = lse_square_scale
        self.inplace_backward = inplace_backward
        self.process_group = process_group
        self.return_z_loss = return_z_loss

    def forward(
        self, input: Tensor, target: Tensor, precomputed_lse: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Compute the loss.

        Args:
            input: Logits of shape (rows, classes).
            target: Labels of shape (rows,).
            precomputed_lse: The logarithm of the softmax's sums, float32 of shape (rows,), if it is known.

        Returns:
            The loss, float32 and a scalar unless ``reduction`` is ``"none"``; with ``return_z_loss``, also
            the part of it that is z-loss.
        """
        assert on_device(input), "Only support CUDA tensors"
        assert on_device(target), "Only support CUDA tensors"
        loss, z_loss = cross_entropy_loss(
            input,
            target,
            precomputed_lse=precomputed_lse,
            label_smoothing=self.label_smoothing,
            logit_scale=self.logit_scale,
            lse_square_scale=self.lse_square_scale,
            ignore_index=self.ignore_index,
            inplace_backward=self.inplace_backward,
            process_group=self.process_group,
        )
        loss = self._reduced(loss, target)
        return (loss, self._reduced(z_loss, target)) if self.return_z_loss else loss

    def _reduced(self, losses: Tensor, target: Tensor) -> Tensor:
        if self.reduction == "mean":
            return losses.sum() / (target != self.ignore_index).sum()
        return losses.sum() if self.reduction == "sum" else losses
