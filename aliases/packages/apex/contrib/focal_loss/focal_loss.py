"""The focal loss of detectors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...kernels import focal_loss as kernels


class FocalLoss(torch.autograd.Function):
    """The loss: ``apply`` takes the arguments of ``focal_loss``."""

    @staticmethod
    def forward(
        ctx: Any,
        cls_output: Tensor,
        cls_targets_at_level: Tensor,
        num_positives_sum: Tensor,
        num_real_classes: int,
        alpha: float,
        gamma: float,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        """Return the loss."""
        options = num_positives_sum, num_real_classes, alpha, gamma, label_smoothing
        loss, partial_grad = kernels.forward(cls_output, cls_targets_at_level, *options)
        ctx.save_for_backward(partial_grad, num_positives_sum)
        return loss

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the logits."""
        return kernels.backward(grad_loss, *ctx.saved_tensors), *(None,) * 6


def focal_loss(
    cls_output: Tensor,
    cls_targets_at_level: Tensor,
    num_positive_sum: Tensor,
    num_real_classes: int,
    alpha: float,
    gamma: float,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Compute the loss of all examples together.

    Args:
        cls_output: The logits, of shape (..., classes).
        cls_targets_at_level: The class of each example, int64; -1 for none, -2 for an ignored example.
        num_positive_sum: The divisor of the loss, float32, of one element.
        num_real_classes: How many classes are not padding.
        alpha: The weight of positive matches; the others have ``1 - alpha``.
        gamma: The exponent that focuses the loss on hard examples.
        label_smoothing: How much of the probability is spread over both outcomes.

    Returns:
        The loss, without dimensions, float32.
    """
    options = num_positive_sum, num_real_classes, alpha, gamma, label_smoothing
    loss: Tensor = FocalLoss.apply(cls_output, cls_targets_at_level, *options)  # type: ignore[no-untyped-call]
    return loss
