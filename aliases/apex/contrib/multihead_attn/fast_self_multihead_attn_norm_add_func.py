"""Attention of a sequence to itself, normalised before and added after."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from .fast_self_multihead_attn_func import fast_self_attn_func


def attention(
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
    """Return the inputs plus what they, normalised, find in themselves, with dropout.

    Args:
        lyr_nrm_gamma_weights: The weight of the normalisation, of shape (size,).
        lyr_nrm_beta_weights: Its bias, of shape (size,).

    The other arguments are those of ``fast_self_attn_func``.
    """
    weights = (lyr_nrm_gamma_weights, lyr_nrm_beta_weights)
    normalised = F.layer_norm(inputs, inputs.shape[-1:], *weights)
    arguments = (normalised, input_weights, output_weights, None, None, pad_mask, False, dropout_prob)
    found = fast_self_attn_func(use_time_mask, is_training, heads, *arguments)
    return inputs + F.dropout(found, dropout_prob, is_training)


class FastSelfAttnNormAddFunc:
    """The attention of a sequence to itself, which torch differentiates."""

    apply = staticmethod(attention)


fast_self_attn_norm_add_func = FastSelfAttnNormAddFunc.apply
