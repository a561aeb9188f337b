"""Attention of many heads over sequences that come first, with its projections, as functions.

Of all that takes them, ``use_time_mask`` says whether the mask is of query and key times, or of each
sequence's keys; ``is_training`` whether to drop; ``heads`` how many heads there are; ``scale`` what products
of queries and keys are multiplied by, in the ``fast`` forms the inverse root of the head size; ``mask``, of
shape (query length, key length) or (batch, key length), where it is set, that a key is not seen;
``dropout_prob`` the chance of a weight to be dropped. Inputs are of shape (length, batch, size), weights of
shape (several times size, size) with those of a head side by side, biases of shape (several times size,).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


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
        is_training: See above.
        heads: See above.
        inputs: Products of queries and keys, of shape (batch * heads, query length, key length).
        pad_mask: Of shape (batch, key length); where it is set, a key is not seen. None for all keys.
        mask_additive: Whether the mask is added to the products instead.
        dropout_prob: See above.
    """
    products = inputs.view(-1, heads, *inputs.shape[1:])
    if pad_mask is not None:
        mask: Any = pad_mask[:, None, None]
        products = products + mask if mask_additive else products.masked_fill(mask.bool(), -torch.inf)
    return F.dropout(products.softmax(-1), dropout_prob, is_training).flatten(0, 1)


def self_attention(
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
    """Return what a sequence finds in itself; an additive mask is added to the products."""
    projected = _split(F.linear(inputs, input_weights, input_biases), heads, 3)
    dropout = dropout_prob if is_training else 0.0
    found = _attend(projected, scale, _over_heads(mask, use_time_mask), is_additive_mask, dropout)
    return F.linear(found, output_weights, output_biases)


def fast_self_attention(
    use_time_mask: bool,
    is_training: bool,
    heads: int,
    inputs: Tensor,
    input_weights: Tensor,
    output_weights: Tensor,
    input_biases: Tensor | None,
    output_biases: Tensor | None,
    pad_mask: Tensor | None,
    mask_additive: bool,
    dropout_prob: float,
) -> Tensor:
    """Do as ``self_attention``, at the usual scale."""
    first = use_time_mask, is_training, heads, _usual(inputs, heads)
    weights = input_weights, output_weights, input_biases, output_biases
    return self_attention(*first, inputs, *weights, pad_mask, mask_additive, dropout_prob)


def fast_self_attention_norm_add(
    use_time_mask: bool,
    is_training: bool,
    heads: int,
    inputs: Tensor,
    lyr_nrm_gamma_weights: Tensor,
    lyr_nrm_beta_weights: Tensor,
    input_weights: Tensor,
    output_weights: Tensor,
    pad_mask: Tensor | None,
    dropout_prob: float,
) -> Tensor:
    """Return the inputs plus what they, normalised, find in themselves, with dropout."""
    first = use_time_mask, is_training, heads
    normalised = F.layer_norm(inputs, inputs.shape[-1:], lyr_nrm_gamma_weights, lyr_nrm_beta_weights)
    weights = input_weights, output_weights
    found = fast_self_attention(
        *first, normalised, *weights, None, None, pad_mask, False, dropout_prob=dropout_prob
    )
    return inputs + F.dropout(found, dropout_prob, is_training)


def encdec_attention(
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
    """Return what one sequence, which asks, finds in another."""
    queries = _split(F.linear(inputs_q, input_weights_q, input_biases_q), heads, 1)
    keys_and_values = _split(F.linear(inputs_kv, input_weights_kv, input_biases_kv), heads, 2)
    dropout = dropout_prob if is_training else 0.0
    found = _attend((*queries, *keys_and_values), scale, _over_heads(mask, use_time_mask), False, dropout)
    return F.linear(found, output_weights, output_biases)


def fast_encdec_attention(
    use_time_mask: bool,
    is_training: bool,
    heads: int,
    inputs_q: Tensor,
    inputs_kv: Tensor,
    input_weights_q: Tensor,
    input_weights_kv: Tensor,
    output_weights: Tensor,
    pad_mask: Tensor | None,
    dropout_prob: float,
) -> Tensor:
    """Do as ``encdec_attention`` without biases, at the usual scale."""
    first = use_time_mask, is_training, heads, _usual(inputs_q, heads)
    weights = input_weights_q, input_weights_kv, output_weights
    return encdec_attention(*first, inputs_q, inputs_kv, *weights, None, None, None, pad_mask, dropout_prob)


def fast_encdec_attention_norm_add(
    use_time_mask: bool,
    is_training: bool,
    heads: int,
    inputs_q: Tensor,
    inputs_kv: Tensor,
    lyr_nrm_gamma_weights: Tensor,
    lyr_nrm_beta_weights: Tensor,
    input_weights_q: Tensor,
    input_weights_kv: Tensor,
    output_weights: Tensor,
    pad_mask: Tensor | None,
    dropout_prob: float,
) -> Tensor:
    """Return ``inputs_q`` plus what they, normalised, find in the other sequence, with dropout."""
    first = use_time_mask, is_training, heads
    normalised = F.layer_norm(inputs_q, inputs_q.shape[-1:], lyr_nrm_gamma_weights, lyr_nrm_beta_weights)
    weights = input_weights_q, input_weights_kv, output_weights
    found = fast_encdec_attention(*first, normalised, inputs_kv, *weights, pad_mask, dropout_prob)
    return inputs_q + F.dropout(found, dropout_prob, is_training)


def _usual(inputs: Tensor, heads: int) -> float:
    return float((inputs.size(2) // heads) ** -0.5)


def _attend(
    projected: Sequence[Tensor], scale: float, mask: Tensor | None, additive: bool, dropout: float
) -> Tensor:
    """Return what queries find, for all heads side by side."""
    queries, keys, values = (each.permute(1, 2, 0, 3) for each in projected)
    if mask is not None:
        mask = mask.to(queries.dtype) if additive else mask.bool().logical_not()
    found = F.scaled_dot_product_attention(queries, keys, values, mask, dropout, scale=scale)
    return found.permute(2, 0, 1, 3).flatten(2)


def _over_heads(mask: Tensor | None, over_time: bool) -> Tensor | None:
    """Return a mask of times, which must be a square, as it is, and one of keys for all heads."""
    if mask is None:
        return None
    if not over_time:
        return mask[:, None, None]
    assert mask.dim() == 2, "Timing mask is not 2D!"
    assert mask.size(0) == mask.size(1), "Sequence length should match!"
    return mask


def _split(projected: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
    """Return the parts of a projection, each of shape (length, batch, heads, head size)."""
    return projected.view(*projected.shape[:2], heads, parts, -1).unbind(3)


class SelfAttnFunc:
    """The attention of a sequence to itself, which torch differentiates."""

    apply = staticmethod(self_attention)


class FastSelfAttnFunc:
    """The same at the usual scale."""

    apply = staticmethod(fast_self_attention)


class FastSelfAttnNormAddFunc:
    """The same, normalised before and added after."""

    apply = staticmethod(fast_self_attention_norm_add)


class EncdecAttnFunc:
    """The attention of one sequence to another, which torch differentiates."""

    apply = staticmethod(encdec_attention)


class FastEncdecAttnFunc:
    """The same at the usual scale."""

    apply = staticmethod(fast_encdec_attention)


class FastEncdecAttnNormAddFunc:
    """The same, normalised before and added after."""

    apply = staticmethod(fast_encdec_attention_norm_add)


class MaskSoftmaxDropout:
    """The softmax over keys with a mask and dropout, which torch differentiates."""

    apply = staticmethod(masked_softmax)
