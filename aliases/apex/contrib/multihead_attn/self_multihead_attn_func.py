"""Attention of a sequence to itself, with its projections."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from ...kernels.attention import attend, over_heads, split


def attention(
    use_time_mask: bool,
    is_training: bool,
    heads: int,
    scale: float,
    inputs: Tensor,
    input_weights: Tensor,
    output_weights: Tensor,
    input_biases: Tensor | None,
    output_biases: Tensor | None,
    mask: Tensor | None,
    is_additive_mask: bool,
    dropout_prob: float,
) -> Tensor:
    """Return what a sequence finds in itself.

    Args:
        use_time_mask: Whether the mask is of query and key times, or of each sequence's keys.
        is_training: Whether to drop.
        heads: How many heads there are.
        scale: What the products of queries and keys are multiplied by.
        inputs: Of shape (length, batch, size).
        input_weights: Of shape (3 * size, size): for each head, those of queries, keys and values.
        output_weights: Of shape (size, size).
        input_biases: Of shape (3 * size,), or None.
        output_biases: Of shape (size,), or None.
        mask: Of shape (length, length) or (batch, length); where it is set, a key is not seen. None for all.
        is_additive_mask: Whether the mask is added to the products instead.
        dropout_prob: The chance of a weight to be dropped.

    Returns:
        A tensor of the inputs' shape.
    """
    projected = split(F.linear(inputs, input_weights, input_biases), heads, 3)
    dropout = dropout_prob if is_training else 0.0
    found = attend(projected, scale, over_heads(mask, use_time_mask), is_additive_mask, dropout)
    return F.linear(found, output_weights, output_biases)


class SelfAttnFunc:
    """The attention of a sequence to itself, which torch differentiates."""

    apply = staticmethod(attention)


self_attn_func = SelfAttnFunc.apply
