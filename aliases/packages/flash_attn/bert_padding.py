"""Removes the padding of a batch, and restores it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ._morph.original import recorded

_of_bert_padding = recorded(__name__)


def index_first_axis(input: Tensor, indices: Tensor) -> Tensor:
    """Return the rows ``indices`` of ``input``, which has two dimensions or more, differentiably."""
    assert input.ndim >= 2
    return input.index_select(0, indices)


def index_put_first_axis(values: Tensor, indices: Tensor, first_axis_dim: int) -> Tensor:
    """Return a tensor of ``first_axis_dim`` rows, with ``values`` in the rows ``indices``, zero elsewhere."""
    assert indices.ndim == 1
    assert values.ndim >= 2
    return values.new_zeros(first_axis_dim, *values.shape[1:]).index_put((indices,), values)


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
    tokens = index_first_axis(hidden_states.flatten(0, 1), indices)
    bounds = functional.pad(torch.cumsum(lengths, dim=0, dtype=torch.int32), (1, 0))
    return tokens, indices, bounds, int(lengths.max()), used


@_of_bert_padding
def pad_input(hidden_states: Tensor, indices: Tensor, batch: int, seqlen: int) -> Tensor:
    """Restore tokens to their positions in a batch.

    The tokens have the given indices in the flattened batch of shape (batch, seqlen, ...); others are zero.
    """
    padded = index_put_first_axis(hidden_states, indices, batch * seqlen)
    return padded.reshape(batch, seqlen, *padded.shape[1:])
