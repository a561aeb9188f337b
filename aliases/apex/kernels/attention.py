"""Attention of many heads over sequences that come first, with its projections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def attend(
    projected: Sequence[Tensor], scale: float, mask: Tensor | None, additive: bool, dropout: float
) -> Tensor:
    """Return what queries find, for all heads side by side.

    Args:
        projected: Queries, keys and values, each of shape (length, batch, heads, head size).
        scale: What the products of queries and keys are multiplied by.
        mask: Of shape (query length, key length) or (batch, 1, 1, key length); where it is set, a key is not
            seen. None for all keys.
        additive: Whether the mask is added to the products instead.
        dropout: The chance of a weight to be dropped.

    Returns:
        A tensor of shape (query length, batch, heads * head size).
    """
    queries, keys, values = (each.permute(1, 2, 0, 3) for each in projected)
    if mask is not None:
        mask = mask.to(queries.dtype) if additive else mask.bool().logical_not()
    found = F.scaled_dot_product_attention(
        queries, keys, values, attn_mask=mask, dropout_p=dropout, scale=scale
    )
    return found.permute(2, 0, 1, 3).flatten(2)


def over_heads(mask: Tensor | None, over_time: bool) -> Tensor | None:
    """Return a mask of times as it is, and one of keys, of shape (batch, key length), for all heads.

    Raises:
        AssertionError: If a mask of times is not a square.
    """
    if mask is None:
        return None
    if not over_time:
        return mask[:, None, None]
    assert mask.dim() == 2, "Timing mask is not 2D!"
    assert mask.size(0) == mask.size(1), "Sequence length should match!"
    return mask


def split(projected: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
    """Return the parts of a projection in which those of a head lie side by side.

    Args:
        projected: Of shape (length, batch, heads * parts * head size).
        heads: How many heads there are.
        parts: How many parts there are.

    Returns:
        Tensors of shape (length, batch, heads, head size).
    """
    return projected.view(*projected.shape[:2], heads, parts, -1).unbind(3)


def masked_softmax(
    is_training: bool,
    heads: int,
    inputs: Tensor,
    pad_mask: Tensor | None,
    mask_additive: bool,
    dropout_prob: float,
) -> Tensor:
    """Return the softmax over keys, with dropout.

    Args:
        is_training: Whether to drop.
        heads: How many heads there are.
        inputs: Products of queries and keys, of shape (batch * heads, query length, key length).
        pad_mask: Of shape (batch, key length); where it is set, a key is not seen. None for all keys.
        mask_additive: Whether the mask is added to the products instead.
        dropout_prob: The chance of a weight to be dropped.
    """
    products = inputs.view(-1, heads, *inputs.shape[1:])
    if pad_mask is not None:
        mask: Any = pad_mask[:, None, None]
        products = products + mask if mask_additive else products.masked_fill(mask.bool(), -torch.inf)
    return F.dropout(products.softmax(-1), dropout_prob, is_training).flatten(0, 1)
