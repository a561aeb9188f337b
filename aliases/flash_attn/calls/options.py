"""What the options of flash_attn ask for."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..kernels import Attention


def attention_of(
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: Tensor | None,
    max_queries: int,
    max_keys: int,
    p_dropout: float = 0.0,
    rng_state: Tensor | None = None,
) -> Attention:
    """Return what a call computes.

    Args:
        softmax_scale: What the product of a query and a key is multiplied by.
        causal: Whether a query sees no key after its own position; queries and keys end at the same position.
        window_size_left: How many keys before its own position a query sees; negative for all.
        window_size_right: How many keys after its own position a query sees; negative for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        alibi_slopes: float32, of shape (heads,) or (batch, heads).
        max_queries: The most queries of a sequence.
        max_keys: The most keys of a sequence.
        p_dropout: The probability that a weight is dropped.
        rng_state: Which weights are dropped, as :func:`rng_state` has drawn it.
    """
    left = -1 if window_size_left >= max_keys else window_size_left
    right = 0 if causal else -1 if window_size_right >= max_queries else window_size_right
    seed = 0 if rng_state is None or p_dropout == 0 else int(rng_state[0])
    return Attention(softmax_scale, left, right, softcap, alibi_slopes, p_dropout, seed)


def rng_state(query: Tensor, p_dropout: float) -> Tensor:
    """Return two int64 that say which weights are dropped, drawn from the device's own generator."""
    if p_dropout == 0:
        return query.new_zeros(2, dtype=torch.int64)
    return torch.randint(1 << 62, (2,), device=query.device)


def rounded(length: int) -> int:
    """Return the next multiple of 128, which flash_attn pads the weights that it returns to."""
    return math.ceil(length / 128) * 128
