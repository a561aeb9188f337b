"""Cross entropy as a module."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from .._morph.checks import on_device
from .._morph.original import initializer
from ..ops.triton.cross_entropy import cross_entropy_loss

_OPTIONS = "label_smoothing", "logit_scale", "lse_square_scale", "inplace_backward", "process_group"


class CrossEntropyLoss(nn.Module):
    """Cross entropy with label smoothing, scaled logits and z-loss, of one process.

    See :func:`flash_attn.ops.triton.cross_entropy.cross_entropy_loss` for the options. ``reduction`` is
    ``"mean"`` over the rows that have a loss, ``"sum"`` or ``"none"``.
    """

    @initializer(__name__)
    def __init__(self, ignore_index: int, reduction: str, return_z_loss: bool, **options: Any) -> None:
        super().__init__()
        if reduction not in ("mean", "none", "sum"):
            raise NotImplementedError("Only support reduction = 'mean' or 'none' or 'sum'")
        self.ignore_index, self.reduction, self.return_z_loss = ignore_index, reduction, return_z_loss
        for name in _OPTIONS:
            setattr(self, name, options[name])

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
        options = {name: getattr(self, name) for name in ("ignore_index", *_OPTIONS)}
        loss, z_loss = cross_entropy_loss(input, target, precomputed_lse, **options)
        loss = self._reduced(loss, target)
        return (loss, self._reduced(z_loss, target)) if self.return_z_loss else loss

    def _reduced(self, losses: Tensor, target: Tensor) -> Tensor:
        if self.reduction == "mean":
            return losses.sum() / (target != self.ignore_index).sum()
        return losses.sum() if self.reduction == "sum" else losses
