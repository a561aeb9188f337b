"""Attention with a bias, which flash_attn computes with Triton."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None = None,
    causal: bool = False,
    softmax_scale: float | None = None,
) -> Tensor:
    """Compute attention; queries and keys begin at the same position.

    Args:
        q: float16 or bfloat16 of shape (batch, queries, heads, head size).
        k: Of shape (batch, keys, heads, head size).
        v: Of the shape of ``k``.
        bias: What is added to the scores, of shape (batch or 1, heads or 1, queries or 1, keys), without a
            gradient.
        causal: Whether a query sees no key after its own position.
        softmax_scale: What the product of a query and a key is multiplied by; None for 1 / sqrt(head size).

    Returns:
        Of the shape of ``q``.
    """
    assert q.dtype == k.dtype == v.dtype, "All tensors must have the same type"
    assert q.dtype in (torch.float16, torch.bfloat16), "Only support fp16 and bf16"
    assert q.shape[-1] <= 128, "FlashAttention only support head dimensions up to 128"
    mask = None if bias is None else bias.detach().expand(-1, -1, q.shape[1], -1).to(q.dtype)
    if mask is not None and causal:
        later = torch.ones(mask.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        mask = mask.masked_fill(later, float("-inf"))
    query, key, value = (each.transpose(1, 2) for each in (q, k, v))
    out = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=causal and mask is None, scale=softmax_scale
    )
    return out.transpose(1, 2)


def flash_attn_kvpacked_func(q: Tensor, kv: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Compute attention as :func:`flash_attn_func`; ``kv`` is (batch, keys, 2, heads, head size)."""
    return flash_attn_func(q, kv[:, :, 0], kv[:, :, 1], *args, **kwargs)


def flash_attn_qkvpacked_func(qkv: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Compute attention as :func:`flash_attn_func`; ``qkv`` is (batch, tokens, 3, heads, head size)."""
    return flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], *args, **kwargs)


class FlashAttnFunc:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(flash_attn_func)


class FlashAttnKVPackedFunc:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(flash_attn_kvpacked_func)


class FlashAttnQKVPackedFunc:
    """What flash_attn has as an autograd function, and torch differentiates by itself here."""

    apply = staticmethod(flash_attn_qkvpacked_func)
