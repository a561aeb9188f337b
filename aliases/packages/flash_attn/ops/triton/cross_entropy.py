"""Cross entropy with label smoothing, scaled logits, z-loss, and a vocabulary spread over processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed

from ..._morph.original import recorded

_ELEMENTS = 1 << 24  # of logits that are held in float32
_OPTIONS = (
    *("label_smoothing", "logit_scale", "lse_square_scale", "ignore_index", "inplace_backward"),
    "process_group",
)
_DEFAULTS = 0.0, 1.0, 0.0, -100, False, None


@dataclass(frozen=True)
class _Options:
    """The options of a loss, and this process's part of the vocabulary."""

    smoothing: float
    logit_scale: float
    lse_square_scale: float
    ignore_index: int
    total_classes: int
    first_class: int

    def place(self, labels: Tensor, columns: int) -> tuple[Tensor, Tensor]:
        """Return each label's column, and whether it is one of this process's."""
        column = labels - self.first_class
        return column.clamp(0, columns - 1), (column >= 0) & (column < columns)


class CrossEntropyLoss(torch.autograd.Function):
    """Cross entropy of each row; the gradient may overwrite the logits."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, precomputed_lse: Tensor | None, *given: Any
    ) -> tuple[Tensor, Tensor]:
        """Compute the losses; see :func:`cross_entropy_loss`."""
        given = (*given, *_DEFAULTS[len(given) :])
        smoothing, logit_scale, lse_square_scale, ignore_index, inplace_backward, process_group = given
        assert logit_scale > 0.0
        n_rows, n_cols = logits.shape
        assert labels.shape == (n_rows,)
        world_size = 1 if process_group is None else distributed.get_world_size(process_group)
        rank = 0 if process_group is None else distributed.get_rank(process_group)
        options = _Options(
            smoothing, logit_scale, lse_square_scale, ignore_index, world_size * n_cols, rank * n_cols
        )
        logits, labels = logits.contiguous() if logits.stride(-1) != 1 else logits, labels.long()
        known = precomputed_lse is not None and logit_scale == 1.0 and smoothing == 0.0
        lse, losses = _local(logits, labels, options, precomputed_lse if known else None)
        if world_size > 1:
            lse, losses = _over_processes(lse, losses, process_group)
            losses += lse
        else:
            _, inside = options.place(labels, n_cols)
            losses += torch.where(inside, lse, smoothing * lse)
        z_losses = lse_square_scale * lse.square()
        ignored = labels == ignore_index
        losses = (losses + z_losses).masked_fill_(ignored, 0.0)
        z_losses.masked_fill_(ignored, 0.0)
        ctx.save_for_backward(logits, lse, labels)
        ctx.mark_non_differentiable(z_losses)
        ctx.options, ctx.inplace_backward = options, inplace_backward
        return losses, z_losses

    @staticmethod
    def backward(ctx: Any, grad_losses: Tensor, grad_z_losses: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the logits, in their memory if requested."""
        logits, lse, labels = ctx.saved_tensors
        options: _Options = ctx.options
        dlogits = logits if ctx.inplace_backward else torch.empty_like(logits)
        scales = grad_losses.masked_fill(labels == options.ignore_index, 0.0) * options.logit_scale
        for rows in _row_blocks(logits):
            part = _gradient(logits[rows], lse[rows], labels[rows], options)
            dlogits[rows] = part.mul_(scales[rows, None])
        return dlogits, *(None,) * 8


@recorded(__name__)
def cross_entropy_loss(
    logits: Tensor, labels: Tensor, precomputed_lse: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor]:
    """Compute the cross entropy of each row.

    ``logits`` are of shape (rows, classes), with a ``process_group`` this process's part of the classes, and
    ``labels`` index those of all processes. ``lse_square_scale`` is how much of the square of the logarithm
    of the sums is added ("z-loss"); that logarithm may be given, and is used without smoothing and scale.

    Returns:
        The losses and the part of them that is z-loss, which has no gradient: float32 of shape (rows,).
    """
    losses, z_losses = CrossEntropyLoss.apply(  # type: ignore[no-untyped-call]
        logits, labels, precomputed_lse, *(options[name] for name in _OPTIONS)
    )
    return losses, z_losses


def _local(logits: Tensor, labels: Tensor, options: _Options, known: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the sums over this process's classes, and the losses without it."""
    lse = logits.new_empty(len(logits), dtype=torch.float32) if known is None else known.float()
    losses = torch.empty_like(lse)
    column, inside = options.place(labels, logits.shape[1])
    for rows in _row_blocks(logits):
        part = logits[rows].float() * options.logit_scale
        if known is None:
            lse[rows] = part.logsumexp(-1)
        own = torch.where(inside[rows], part.gather(1, column[rows, None])[:, 0], 0.0)
        losses[rows] = -(1 - options.smoothing) * own
        if options.smoothing:
            losses[rows] -= options.smoothing * part.sum(-1) / options.total_classes
    return lse, losses


def _over_processes(lse: Tensor, losses: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    parts = [torch.empty_like(lse) for _ in range(distributed.get_world_size(group))]
    distributed.all_gather(parts, lse.contiguous(), group=group)
    distributed.all_reduce(losses, group=group)
    return torch.stack(parts).logsumexp(0), losses


def _gradient(logits: Tensor, lse: Tensor, labels: Tensor, options: _Options) -> Tensor:
    """Return the gradient of the losses of some rows with respect to their scaled logits."""
    grad = (logits.float() * options.logit_scale).sub_(lse[:, None]).exp_()
    grad *= (1 + 2 * options.lse_square_scale * lse)[:, None]
    column, inside = options.place(labels, logits.shape[1])
    own = torch.where(inside, -(1 - options.smoothing), 0.0)
    grad.scatter_add_(1, column[:, None], own[:, None])
    return grad.sub_(options.smoothing / options.total_classes)


def _row_blocks(logits: Tensor) -> Iterator[slice]:
    size = max(1, _ELEMENTS // max(1, logits.shape[1]))
    return (slice(start, start + size) for start in range(0, len(logits), size))
