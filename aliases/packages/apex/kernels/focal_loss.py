"""The focal loss of detectors, with label smoothing and padded classes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from .tensor_lists import require

IGNORED = -2


def forward(
    cls_output: Tensor,
    cls_targets_at_level: Tensor,
    num_positives_sum: Tensor,
    num_real_classes: int,
    alpha: float,
    gamma: float,
    smoothing_factor: float,
    /,
) -> tuple[Tensor, Tensor]:
    """Compute the loss, and its gradient except for a factor.

    The arguments are those of ``apex.contrib.focal_loss.focal_loss.focal_loss``.

    Returns:
        The loss, without dimensions, float32, and the gradient of the logits, not yet divided.

    Raises:
        RuntimeError: If a shape or dtype is invalid.
    """
    _check(cls_output, cls_targets_at_level, num_positives_sum, num_real_classes)
    logits = cls_output.float()
    targets = cls_targets_at_level.unsqueeze(-1)
    classes = torch.arange(logits.size(-1), device=logits.device)
    positive = (targets >= 0) & (targets == classes)
    wanted = positive * (1 - smoothing_factor) + smoothing_factor / 2
    probability = logits.sigmoid()
    entropy = F.softplus(-logits) + (1 - wanted) * logits
    weight = torch.where(positive, alpha * (1 - probability) ** gamma, (1 - alpha) * probability**gamma)
    slope = torch.where(positive, -gamma * probability, gamma * (1 - probability))
    counted = (targets != IGNORED) & (classes < num_real_classes)
    losses = torch.where(counted, weight * entropy, 0.0)
    grad = torch.where(counted, weight * (slope * entropy - (wanted - probability)), 0.0)
    return losses.sum() / num_positives_sum.reshape(()), grad.to(cls_output.dtype)


def backward(grad_output: Tensor, partial_grad: Tensor, num_positives_sum: Tensor, /) -> Tensor:
    """Return the gradient of the logits, from the second result of ``forward``."""
    factor = grad_output.float().reshape(()) / num_positives_sum.reshape(())
    return (partial_grad.float() * factor).to(partial_grad.dtype)


def _check(logits: Tensor, targets: Tensor, positives: Tensor, real_classes: int) -> None:
    for holds, message in (
        (logits.size(-1) >= real_classes, "Incorrect number of real classes."),
        (targets.dtype == torch.int64, "Invalid label type."),
        (
            positives.numel() == 1 and positives.dtype == torch.float32,
            "Expect num_positives_sum to be a float32 tensor with only one element.",
        ),
        (logits.dim() == targets.dim() + 1, "Mis-matched dimensions between class output and label."),
        (logits.shape[:-1] == targets.shape, "Mis-matched shape between class output and label."),
    ):
        require(holds, message)
