"""Attention of one sequence to another, with its projections."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from ...kernels.attention import attend, over_heads, split


def attention(
    use_time_mask: bool,
    is_training: bool,
    heads: int,
    scale: float,
    inputs_q: Tensor,
    inputs_kv: Tensor,
    input_weights_q: Tensor,
    input_weights_kv: Tensor,
    output_weights: Tensor,
    input_biases_q: Tensor | None,
    input_biases_kv: Tensor | None,
    output_biases: Tensor | None,
    mask: Tensor | None,
    dropout_prob: float,
) -> Tensor:
    """Return what one sequence finds in another.

    Args:
        use_time_mask: Whether the mask is of query and key times, or of each sequence's keys.
        is_training: Whether to drop.
        heads: How many heads there are.
        scale: What the products of queries and keys are multiplied by.
        inputs_q: What asks, of shape (query length, batch, size).
        inputs_kv: What is asked, of shape (key length, batch, size).
        input_weights_q: Of shape (size, size).
        input_weights_kv: Of shape (2 * size, size): for each head, those of keys and values.
        output_weights: Of shape (size, size).
        input_biases_q: Of shape (size,), or None.
        input_biases_kv: Of shape (2 * size,), or None.
        output_biases: Of shape (size,), or None.
        mask: Of shape (length, length) or (batch, key length); where it is set, a key is not seen. None for
            all.
        dropout_prob: The chance of a weight to be dropped.

    Returns:
        A tensor of the shape of ``inputs_q``.
    """
    queries = split(F.linear(inputs_q, input_weights_q, input_biases_q), heads, 1)
    keys_and_values = split(F.linear(inputs_kv, input_weights_kv, input_biases_kv), heads, 2)
    dropout = dropout_prob if is_training else 0.0
    found = attend((*queries, *keys_and_values), scale, over_heads(mask, use_time_mask), False, dropout)
    return F.linear(found, output_weights, output_biases)


class EncdecAttnFunc:
    """The attention of one sequence to another, which torch differentiates."""

    apply = staticmethod(attention)


encdec_attn_func = EncdecAttnFunc.apply
