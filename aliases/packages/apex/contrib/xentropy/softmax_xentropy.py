"""Cross entropy with label smoothing, which saves no tensor of the logits' size except the logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...kernels import xentropy


class SoftmaxCrossEntropyLoss(torch.autograd.Function):
    """The losses: ``apply(logits, labels, smoothing=0.0, padding_idx=0, half_to_float=False)``."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        labels: Tensor,
        smoothing: float = 0.0,
        padding_idx: int = 0,
        half_to_float: bool = False,
    ) -> Tensor:
        """Return the loss of each example in float32; 0 if the label is ``padding_idx``."""
        losses, log_sum = xentropy.exact_forward(logits, labels, smoothing, half_to_float)
        losses.masked_fill_(labels == padding_idx, 0)
        ctx.save_for_backward(logits, log_sum, labels)
        ctx.smoothing, ctx.padding_idx = smoothing, padding_idx
        return losses

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the logits."""
        logits, log_sum, labels = ctx.saved_tensors
        grad_loss = grad_loss.masked_fill(labels == ctx.padding_idx, 0)
        grad = xentropy.backward(grad_loss, logits, log_sum, labels, ctx.smoothing)
        return grad, None, None, None, None
