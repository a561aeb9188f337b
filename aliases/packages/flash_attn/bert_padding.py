"""Removes the padding of a batch, and restores it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ._morph.original import recorded

_of_bert_padding = recorded(__name__)


class IndexFirstAxis(torch.autograd.Function):
    """Rows of a tensor."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, indices: Tensor) -> Tensor:
        """Return the rows ``indices`` of ``input``, which has two dimensions or more."""
        assert input.ndim >= 2
        ctx.save_for_backward(indices)
        ctx.first_axis_dim = input.shape[0]
        return input[indices]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """Return the gradient of ``input``: zero in all other rows."""
        assert grad_output.ndim >= 2
        (indices,) = ctx.saved_tensors
        return _placed(grad_output, indices, ctx.first_axis_dim), None


index_first_axis = IndexFirstAxis.apply


class IndexPutFirstAxis(torch.autograd.Function):
    """Rows of a larger tensor, which is zero elsewhere."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, indices: Tensor, first_axis_dim: int) -> Tensor:
        """Return a tensor of ``first_axis_dim`` rows, with ``values`` in the rows ``indices``."""
        assert indices.ndim == 1
        assert values.ndim >= 2
        ctx.save_for_backward(indices)
        return _placed(values, indices, first_axis_dim)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient of ``values``."""
        (indices,) = ctx.saved_tensors
        return grad_output[indices], None, None


index_put_first_axis = IndexPutFirstAxis.apply


@_of_bert_padding
def unpad_input(
    hidden_states: Tensor, attention_mask: Tensor, unused_mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, int, Tensor]:
    """Remove the padding of a batch.

    ``attention_mask``, bool or int of shape (batch, tokens), is 1 for valid tokens, and ``unused_mask`` for
    tokens that are kept although they are not used.

    Returns:
        The kept tokens, of shape (kept tokens, ...); their indices in the flattened batch; where each
        sequence begins and the last one ends, int32 of shape (batch + 1,); the largest number of kept tokens
        of a sequence; and how many tokens of each sequence are used, int32 of shape (batch,).
    """
    kept = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = kept.sum(dim=-1, dtype=torch.int32)
    used = attention_mask.sum(dim=-1, dtype=torch.int32)
    indices = torch.nonzero(kept.flatten(), as_tuple=False).flatten()
    tokens = index_first_axis(hidden_states.flatten(0, 1), indices)  # type: ignore[no-untyped-call]
    bounds = functional.pad(torch.cumsum(lengths, dim=0, dtype=torch.int32), (1, 0))
    return tokens, indices, bounds, int(lengths.max()), used


@_of_bert_padding
def pad_input(hidden_states: Tensor, indices: Tensor, batch: int, seqlen: int) -> Tensor:
    """Restore tokens to their positions in a batch.

    The tokens have the given indices in the flattened batch of shape (batch, seqlen, ...); others are zero.
    """
    padded: Tensor = index_put_first_axis(hidden_states, indices, batch * seqlen)  # type: ignore[no-untyped-call]
    return padded.reshape(batch, seqlen, *padded.shape[1:])


def _placed(rows: Tensor, indices: Tensor, size: int) -> Tensor:
    placed = rows.new_zeros(size, *rows.shape[1:])
    placed[indices] = rows
    return placed
