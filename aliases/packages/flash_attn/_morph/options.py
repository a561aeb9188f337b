"""The options of flash_attn."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, float32

from morph.aliases.attention import Attention

from .checks import require, require_device


class Options(NamedTuple):
    """The options of a call of flash_attn 2, in the order in which its operators take them.

    Attributes:
        dropout_p: The probability that a weight is dropped.
        softmax_scale: The factor of the query-key products.
        causal: Whether a query sees no key after its own position; queries and keys end at the same position.
        window_size_left: How many keys before its own position a query sees; negative for all.
        window_size_right: How many keys after its own position a query sees; negative for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        alibi_slopes: float32, of shape (heads,) or (batch, heads).
    """

    dropout_p: float
    softmax_scale: float
    causal: bool
    window_size_left: int
    window_size_right: int
    softcap: float
    alibi_slopes: Tensor | None

    def require(self, batch_size: int, num_heads: int) -> None:
        """Reject options that cannot be combined, and ALiBi slopes of another shape or dtype."""
        slopes = self.alibi_slopes
        require(self.dropout_p < 1.0, "Expected p_dropout < 1.f to be true, but got false.")
        no_dropout = "Softcapping does not support dropout for now"
        require(self.softcap <= 0 or self.dropout_p == 0, no_dropout)
        if slopes is not None:
            require(slopes.dtype == float32, "ALiBi slopes must have dtype fp32")
            require_device(alibi_slopes=slopes)
            require(slopes.stride(-1) == 1, "ALiBi slopes tensor must have contiguous last dimension")
            require(
                tuple(slopes.shape) in ((num_heads,), (batch_size, num_heads)),
                "Expected alibi_slopes.sizes() to be ({num_heads}) or ({batch_size, num_heads}), but got "
                f"{tuple(slopes.shape)}.",
            )

    def attention(self, longest: tuple[int, int], state: Tensor | None = None) -> Attention:
        """Return the options for the kernels, for the given maximum numbers of queries and keys.

        ``state``, from :func:`rng_state`, determines which weights are dropped.
        """
        left, right = self.window_size_left, self.window_size_right
        left = -1 if left >= longest[1] else left
        right = 0 if self.causal else -1 if right >= longest[0] else right
        seed = 0 if state is None or self.dropout_p == 0 else int(state[0])
        softcap, slopes = self.softcap, self.alibi_slopes
        return Attention(self.softmax_scale, left, right, softcap, slopes, self.dropout_p, seed)


def rng_state(query: Tensor, p_dropout: float) -> Tensor:
    """Return two int64 that determine which weights are dropped, from the device's own generator."""
    if p_dropout == 0:
        return query.new_zeros(2, dtype=torch.int64)
    return torch.randint(1 << 62, (2,), device=query.device)


def rounded(length: int) -> int:
    """Return the next multiple of 128, to which flash_attn pads the returned weights."""
    return (length + 127) // 128 * 128
