"""Attention of one sequence to another, normalised before and added after."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from .fast_encdec_multihead_attn_func import fast_encdec_attn_func


def attention(
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
    """Return ``inputs_q`` plus what they, normalised, find in the other sequence, with dropout.

    Args:
        lyr_nrm_gamma_weights: The weight of the normalisation, of shape (size,).
        lyr_nrm_beta_weights: Its bias, of shape (size,).

    The other arguments are those of ``fast_encdec_attn_func``.
    """
    normalised = F.layer_norm(inputs_q, inputs_q.shape[-1:], lyr_nrm_gamma_weights, lyr_nrm_beta_weights)
    weights = (input_weights_q, input_weights_kv, output_weights)
    arguments = (normalised, inputs_kv, *weights, pad_mask, dropout_prob)
    found = fast_encdec_attn_func(use_time_mask, is_training, heads, *arguments)
    return inputs_q + F.dropout(found, dropout_prob, is_training)


class FastEncdecAttnNormAddFunc:
    """The attention of one sequence to another, which torch differentiates."""

    apply = staticmethod(attention)


fast_encdec_attn_norm_add_func = FastEncdecAttnNormAddFunc.apply
