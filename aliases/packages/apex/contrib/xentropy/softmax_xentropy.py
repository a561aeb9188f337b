"""Cross entropy with label smoothing, which saves no tensor of the logits' size except the logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...kernels.tensor_lists import require


def forward(input: Tensor, labels: Tensor, smoothing: float, half_to_float: bool, /) -> tuple[Tensor, Tensor]:
    """Compute the loss of each example, as apex's extension does.

    Args:
        input: The logits, of shape (examples, classes).
        labels: The classes, of shape (examples,), int64.
        smoothing: How much of the probability is spread over all classes.
        half_to_float: Whether the second result is float32 for float16 logits.

    Returns:
        The losses, of shape (examples,), float32, and the logarithm of the sum of exponentials.
    """
    losses, log_sum = _exact_forward(input, labels, smoothing, half_to_float)
    return losses, log_sum if half_to_float else log_sum.to(input.dtype)


def _exact_forward(
    input: Tensor, labels: Tensor, smoothing: float, half_to_float: bool
) -> tuple[Tensor, Tensor]:
    """Do what ``forward`` does, with the second result always in float32."""
    _check(input, labels)
    require(not half_to_float or input.dtype == torch.float16, "conversion is supported for Half type only")
    full = input.float()
    log_sum = full.logsumexp(1)
    losses = log_sum - full.gather(1, labels.unsqueeze(1)).squeeze(1)
    if smoothing:
        losses = (1 - smoothing) * losses + smoothing * (log_sum - full.mean(1))
    return losses, log_sum


def backward(
    grad_loss: Tensor, logits: Tensor, max_log_sum_exp: Tensor, labels: Tensor, smoothing: float, /
) -> Tensor:
    """Return the gradient of the logits; ``max_log_sum_exp`` is the second result of ``forward``."""
    _check(logits, labels)
    grad = (logits.float() - max_log_sum_exp.float().unsqueeze(1)).exp_()
    if smoothing:
        grad.sub_(smoothing / logits.size(1))
    wanted = torch.full_like(labels, smoothing - 1, dtype=grad.dtype).unsqueeze(1)
    grad.scatter_add_(1, labels.unsqueeze(1), wanted)
    return grad.mul_(grad_loss.float().unsqueeze(1)).to(logits.dtype)


def _check(logits: Tensor, labels: Tensor) -> None:
    require(logits.is_cuda, "input must be a CUDA tensor")
    require(labels.is_cuda, "labels must be a CUDA tensor")
    require(labels.dtype == torch.int64, "Label type should be CUDA Long")
    require(logits.dim() == 2, "Currently only 2 dim input supported")
    require(labels.dim() == 1, "Labels should be 1 dimensional")
    require(logits.size(0) == labels.size(0), "Input and label should have same number of examples")
    require(logits.numel() > 0, "Number of classes in input should not be 0")


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
        losses, log_sum = _exact_forward(logits, labels, smoothing, half_to_float)
        losses.masked_fill_(labels == padding_idx, 0)
        ctx.save_for_backward(logits, log_sum, labels)
        ctx.smoothing, ctx.padding_idx = smoothing, padding_idx
        return losses

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the logits."""
        logits, log_sum, labels = ctx.saved_tensors
        grad_loss = grad_loss.masked_fill(labels == ctx.padding_idx, 0)
        return backward(grad_loss, logits, log_sum, labels, ctx.smoothing), None, None, None, None
