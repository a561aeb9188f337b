"""Cross entropy with label smoothing, scaled logits and z-loss, of one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..._morph.checks import refuse_groups
from ..._morph.original import recorded

_ELEMENTS = 1 << 24  # of logits that are held in float32


class _Options(NamedTuple):
    """The options of a loss, by flash_attn's names and with its defaults."""

    label_smoothing: float = 0.0
    logit_scale: float = 1.0
    lse_square_scale: float = 0.0
    ignore_index: int = -100
    inplace_backward: bool = False
    process_group: Any = None


class CrossEntropyLoss(torch.autograd.Function):
    """Cross entropy of each row; the gradient may overwrite the logits."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, precomputed_lse: Tensor | None, *given: Any
    ) -> tuple[Tensor, Tensor]:
        """Compute the losses; see :func:`cross_entropy_loss`."""
        options = _Options(*given)
        refuse_groups(options.process_group)
        assert options.logit_scale > 0.0
        assert labels.shape == logits.shape[:1]
        logits, labels = logits.contiguous() if logits.stride(-1) != 1 else logits, labels.long()
        known = precomputed_lse is not None and options.logit_scale == 1.0 and options.label_smoothing == 0.0
        lse, losses = _losses(logits, labels, options, precomputed_lse if known else None)
        z_losses = options.lse_square_scale * lse.square()
        ignored = labels == options.ignore_index
        losses = (losses + z_losses).masked_fill_(ignored, 0.0)
        z_losses.masked_fill_(ignored, 0.0)
        ctx.save_for_backward(logits, lse, labels)
        ctx.mark_non_differentiable(z_losses)
        ctx.options = options
        return losses, z_losses

    @staticmethod
    def backward(ctx: Any, grad_losses: Tensor, grad_z_losses: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the logits, in their memory if requested."""
        logits, lse, labels = ctx.saved_tensors
        options: _Options = ctx.options
        dlogits = logits if options.inplace_backward else torch.empty_like(logits)
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

    ``logits`` are of shape (rows, classes). ``lse_square_scale`` is how much of the square of the logarithm
    of the sums is added ("z-loss"); that logarithm may be given, and is used without smoothing and scale.
    ``process_group`` is refused.

    Returns:
        The losses and the part of them that is z-loss, which has no gradient: float32 of shape (rows,).
    """
    losses, z_losses = CrossEntropyLoss.apply(  # type: ignore[no-untyped-call]
        logits, labels, precomputed_lse, *(options[name] for name in _Options._fields)
    )
    return losses, z_losses


def _losses(logits: Tensor, labels: Tensor, options: _Options, known: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the sums, and the losses."""
    lse = logits.new_empty(len(logits), dtype=torch.float32) if known is None else known.float()
    losses = torch.empty_like(lse)
    smoothing = options.label_smoothing
    for rows in _row_blocks(logits):
        part = logits[rows].float() * options.logit_scale
        if known is None:
            lse[rows] = part.logsumexp(-1)
        column, inside = _place(labels[rows], logits)
        own = torch.where(inside, part.gather(1, column[:, None])[:, 0] - lse[rows], 0.0)
        losses[rows] = -(1 - smoothing) * own
        if smoothing:
            losses[rows] += smoothing * (lse[rows] - part.mean(-1))
    return lse, losses


def _gradient(logits: Tensor, lse: Tensor, labels: Tensor, options: _Options) -> Tensor:
    """Return the gradient of the losses of some rows with respect to their scaled logits."""
    grad = (logits.float() * options.logit_scale).sub_(lse[:, None]).exp_()
    grad *= (1 + 2 * options.lse_square_scale * lse)[:, None]
    column, inside = _place(labels, logits)
    own = torch.where(inside, -(1 - options.label_smoothing), 0.0)
    grad.scatter_add_(1, column[:, None], own[:, None])
    return grad.sub_(options.label_smoothing / logits.shape[1])


def _place(labels: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return each label's column, and whether it is one."""
    classes = logits.shape[1]
    return labels.clamp(0, classes - 1), (labels >= 0) & (labels < classes)


def _row_blocks(logits: Tensor) -> Iterator[slice]:
    size = max(1, _ELEMENTS // max(1, logits.shape[1]))
    return (slice(start, start + size) for start in range(0, len(logits), size))
