"""Cross entropy of logits whose vocabulary is spread over processes."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ..ranks import get_tensor_model_parallel_group as get_tensor_model_parallel_group
from ..ranks import get_tensor_model_parallel_rank as get_tensor_model_parallel_rank
from ..ranks import get_tensor_model_parallel_world_size as get_tensor_model_parallel_world_size
from .utils import VocabUtility as VocabUtility


class _VocabParallelCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
        group = get_tensor_model_parallel_group()
        largest = logits.amax(-1)
        dist.all_reduce(largest, dist.ReduceOp.MAX, group)
        shifted = logits - largest.unsqueeze(-1)
        size, rank = logits.size(-1), get_tensor_model_parallel_rank()
        world = get_tensor_model_parallel_world_size()
        first, last = VocabUtility.vocab_range_from_per_partition_vocab_size(size, rank, world)
        elsewhere = (target < first) | (target >= last)
        here = (target - first).masked_fill(elsewhere, 0)
        predicted = shifted.gather(-1, here.unsqueeze(-1)).squeeze(-1).masked_fill(elsewhere, 0.0)
        dist.all_reduce(predicted, group=group)
        exponentials = shifted.exp()
        total = exponentials.sum(-1)
        dist.all_reduce(total, group=group)
        loss = total.log() - predicted
        probabilities = exponentials.div_(total.unsqueeze(-1))
        smoothing = _spread(label_smoothing, size)
        if smoothing:
            # like apex, over this process's part of the vocabulary
            loss = (1.0 - smoothing) * loss - smoothing * probabilities.log().mean(-1)
        ctx.smoothing = smoothing
        ctx.save_for_backward(probabilities, elsewhere, here)
        return loss

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None]:
        probabilities, elsewhere, here = ctx.saved_tensors
        grad = probabilities - ctx.smoothing / probabilities.size(-1)
        hit = (1.0 - ctx.smoothing) * (~elsewhere).to(grad.dtype)
        grad.scatter_add_(-1, here.unsqueeze(-1), -hit.unsqueeze(-1))
        return grad * grad_output.unsqueeze(-1), None, None


def _spread(label_smoothing: float, classes: int) -> float:
    """Return what is spread over all classes, so that ``label_smoothing`` goes to the wrong ones."""
    assert 0.0 <= label_smoothing < 1.0
    return label_smoothing * classes / (classes - 1) if label_smoothing else 0.0


def vocab_parallel_cross_entropy(
    vocab_parallel_logits: Tensor, target: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """Compute the losses of logits that are spread over the tensor-parallel group.

    Args:
        vocab_parallel_logits: This process's part, of shape (..., part of the vocabulary).
        target: The classes, of shape (...).
        label_smoothing: How much of the probability goes to the wrong classes.

    Returns:
        The losses, of the target's shape, the same in every process.
    """
    apply: Any = _VocabParallelCrossEntropy.apply
    losses: Tensor = apply(vocab_parallel_logits, target, label_smoothing)
    return losses
