"""Attention of one sequence to another, at the usual scale."""

from __future__ import annotations

from torch import Tensor

from .encdec_multihead_attn_func import encdec_attn_func


def attention(
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
    """Do as ``encdec_attn_func`` without biases, with the root of the head size as the products' divisor."""
    scale = (inputs_q.size(2) // heads) ** -0.5
    weights = (input_weights_q, input_weights_kv, output_weights)
    inputs = (inputs_q, inputs_kv)
    return encdec_attn_func(
        use_time_mask, is_training, heads, scale, *inputs, *weights, None, None, None, pad_mask, dropout_prob
    )


class FastEncdecAttnFunc:
    """The attention of one sequence to another, which torch differentiates."""

    apply = staticmethod(attention)


fast_encdec_attn_func = FastEncdecAttnFunc.apply
