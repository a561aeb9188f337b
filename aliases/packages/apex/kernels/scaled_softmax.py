"""Softmax of scaled scores, masked or causal, computed in float32; torch differentiates all of them."""

from __future__ import annotations

import torch
from torch import Tensor

from .tensor_lists import LOW_PRECISION, require

# apex's replacement of a masked score
MASKED = -10000.0
WARP, WARPS = 32, 4


def forward(input: Tensor, scale: float | Tensor, /) -> Tensor:
    """Return the softmax of scaled scores of shape (batch, heads, queries, keys), float16 or bfloat16."""
    _check(input, 4)
    return (input.float() * float(scale)).softmax(-1).to(input.dtype)


def masked_forward(input: Tensor, mask: Tensor, scale: float | Tensor, /) -> Tensor:
    """Do what ``forward`` does, without the scores where ``mask`` is 1; a fully masked row is zero.

    The mask is of shape (batch or 1, 1, queries, keys).
    """
    _check(input, 4)
    require(mask.dim() == 4, "expected 4D tensor")
    scores = (input.float() * float(scale)).masked_fill(mask == 1, MASKED)
    empty = (mask == 1).all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(empty, 0.0).to(input.dtype)


def causal_forward(input: Tensor, scale: float | Tensor, /) -> Tensor:
    """Do what ``forward`` does to scores of shape (attentions, n, n), without the keys after each query."""
    _check(input, 3)
    hidden = torch.ones(input.shape[1:], dtype=torch.bool, device=input.device).triu(1)
    scores = (input.float() * float(scale)).masked_fill(hidden, float("-inf"))
    return scores.softmax(-1).to(input.dtype)


def backward(output_grads: Tensor, softmax_results: Tensor, scale: float | Tensor, /) -> Tensor:
    """Return the gradient of the scores, from the probabilities and their gradient."""
    grad, result = output_grads.float(), softmax_results.float()
    product = grad * result
    total = product.sum(-1, keepdim=True)
    return ((product - result * total) * float(scale)).to(output_grads.dtype)


def get_batch_per_block(query_seq_len: int, key_seq_len: int, batches: int, attn_heads: int, /) -> int:
    """Return the number of rows in a block of apex's kernel, which Megatron queries."""
    power = 1 << max(key_seq_len - 1, 0).bit_length()
    warp = min(power, WARP)
    return WARP * WARPS // warp * (2 if power <= 128 else 1)


def _check(input: Tensor, dimensions: int) -> None:
    require(input.dim() == dimensions, f"expected {dimensions}D tensor")
    require(input.dtype in LOW_PRECISION, "Only fp16 and bf16 are supported")
