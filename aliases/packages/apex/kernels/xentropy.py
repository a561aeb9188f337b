"""Cross entropy with label smoothing, of logits in any precision."""

from __future__ import annotations

import torch
from torch import Tensor

from .tensor_lists import require


def forward(input: Tensor, labels: Tensor, smoothing: float, half_to_float: bool, /) -> tuple[Tensor, Tensor]:
    """Compute the loss of each example.

    Args:
        input: The logits, of shape (examples, classes).
        labels: The classes, of shape (examples,), int64.
        smoothing: How much of the probability is spread over all classes.
        half_to_float: Whether the second result is float32 for float16 logits.

    Returns:
        The losses, of shape (examples,), float32, and the logarithm of the sum of exponentials.

    Raises:
        RuntimeError: If a shape or dtype is invalid.
    """
    losses, log_sum = exact_forward(input, labels, smoothing, half_to_float)
    return losses, log_sum if half_to_float else log_sum.to(input.dtype)


def exact_forward(
    input: Tensor, labels: Tensor, smoothing: float, half_to_float: bool
) -> tuple[Tensor, Tensor]:
    """Do what ``forward`` does, with the second result always in float32."""
    _check(input, labels)
    if half_to_float and input.dtype != torch.float16:
        raise RuntimeError("conversion is supported for Half type only")
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
    for holds, message in (
        (logits.is_cuda, "input must be a CUDA tensor"),
        (labels.is_cuda, "labels must be a CUDA tensor"),
        (labels.dtype == torch.int64, "Label type should be CUDA Long"),
        (logits.dim() == 2, "Currently only 2 dim input supported"),
        (labels.dim() == 1, "Labels should be 1 dimensional"),
        (logits.size(0) == labels.size(0), "Input and label should have same number of examples"),
        (logits.numel() > 0, "Number of classes in input should not be 0"),
    ):
        require(holds, message)
