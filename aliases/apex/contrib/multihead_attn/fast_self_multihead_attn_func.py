"""Attention of a sequence to itself, at the usual scale."""

from __future__ import annotations

from torch import Tensor

from .self_multihead_attn_func import self_attn_func


def attention(
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
    """Do as ``self_attn_func``, with the root of the head size as the divisor of the products."""
    return self_attn_func(
        use_time_mask,
        is_training,
        heads,
        (inputs.size(2) // heads) ** -0.5,
        inputs,
        input_weights,
        output_weights,
        input_biases,
        output_biases,
        pad_mask,
        mask_additive,
        dropout_prob,
    )


class FastSelfAttnFunc:
    """The attention of a sequence to itself, which torch differentiates."""

    apply = staticmethod(attention)


fast_self_attn_func = FastSelfAttnFunc.apply
