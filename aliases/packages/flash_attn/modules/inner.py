"""Attention of queries, keys and values, with flash_attn or step by step."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from .._morph.checks import DTYPES, on_device
from .._morph.original import initializer
from ..flash_attn_interface import (
    flash_attn_kvpacked_func,
    flash_attn_qkvpacked_func,
    flash_attn_varlen_kvpacked_func,
    flash_attn_varlen_qkvpacked_func,
)

_HIDDEN = -10000.0
_initializer = initializer("flash_attn.modules.mha")


class _Flash(nn.Module):
    """The options of attention with flash_attn."""

    def _set(self, alibi_slopes: Tensor | None, attention_dropout: float, **options: Any) -> None:
        self.drop = nn.Dropout(attention_dropout)
        self.causal, self.softmax_scale = options["causal"], options["softmax_scale"]
        self.window_size, self.deterministic = options["window_size"], options["deterministic"]
        self.register_buffer("alibi_slopes", alibi_slopes, persistent=False)

    def _options(self, causal: bool | None) -> dict[str, Any]:
        slopes: Any = self.alibi_slopes
        return {
            "dropout_p": self.drop.p if self.training else 0.0,
            "softmax_scale": self.softmax_scale,
            "causal": self.causal if causal is None else causal,
            "alibi_slopes": None if slopes is None else slopes.float(),
            "window_size": self.window_size,
            "deterministic": self.deterministic,
        }


class FlashSelfAttention(_Flash):
    """Attention within a sequence with flash_attn."""

    @_initializer
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._set(**options)

    def forward(
        self,
        qkv: Tensor,
        causal: bool | None = None,
        cu_seqlens: Tensor | None = None,
        max_seqlen: int | None = None,
    ) -> Any:
        """Attend; ``qkv`` is as for flash_attn's functions, and ``causal`` overrides the module's own."""
        assert qkv.dtype in DTYPES
        assert on_device(qkv)
        if cu_seqlens is None:
            return flash_attn_qkvpacked_func(qkv, **self._options(causal))
        _require_bounds(cu_seqlens, max_seqlen)
        return flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, **self._options(causal))


class FlashCrossAttention(_Flash):
    """Attention from one sequence to another with flash_attn."""

    @_initializer
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._set(**options)

    def forward(
        self,
        q: Tensor,
        kv: Tensor,
        causal: bool | None = None,
        cu_seqlens: Tensor | None = None,
        max_seqlen: int | None = None,
        cu_seqlens_k: Tensor | None = None,
        max_seqlen_k: int | None = None,
    ) -> Any:
        """Attend; ``q`` and ``kv`` are as for flash_attn's functions."""
        assert q.dtype in DTYPES
        assert on_device(q)
        assert on_device(kv)
        if cu_seqlens is None:
            assert (kv.shape[0], kv.shape[4]) == (q.shape[0], q.shape[3])
            return flash_attn_kvpacked_func(q, kv, **self._options(causal))
        _require_bounds(cu_seqlens, max_seqlen)
        _require_bounds(cu_seqlens_k, max_seqlen_k)
        bounds = cu_seqlens, cu_seqlens_k, max_seqlen, max_seqlen_k
        return flash_attn_varlen_kvpacked_func(q, kv, *bounds, **self._options(causal))


class _Plain(nn.Module):
    """Attention step by step, with a matrix of all scores."""

    def _set(self, causal: bool, softmax_scale: float | None, attention_dropout: float) -> None:
        self.causal, self.softmax_scale = causal, softmax_scale
        self.drop = nn.Dropout(attention_dropout)

    def _attend(
        self, q: Tensor, kv: Tensor, hidden: Tensor | None, key_padding_mask: Tensor | None
    ) -> Tensor:
        k, v = kv.repeat_interleave(q.shape[2] // kv.shape[3], dim=3).unbind(dim=2)
        scale = self.softmax_scale or 1.0 / math.sqrt(q.shape[-1])
        scores = torch.einsum("bthd,bshd->bhts", q, k * scale)
        if key_padding_mask is not None:
            padding = torch.where(key_padding_mask, 0.0, _HIDDEN).to(scores.dtype)
            scores = scores + padding[:, None, None]
        if hidden is not None:
            scores = scores.masked_fill(hidden, _HIDDEN)
        weights = self.drop(torch.softmax(scores, dim=-1, dtype=v.dtype))
        return torch.einsum("bhts,bshd->bthd", weights, v)


class SelfAttention(_Plain):
    """Attention within a sequence step by step."""

    @_initializer
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._set(**options)

    def forward(
        self, qkv: Tensor, causal: bool | None = None, key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Attend; ``key_padding_mask`` is bool of shape (batch, tokens), False for padding."""
        hidden = None
        if self.causal if causal is None else causal:
            tokens = qkv.shape[1]
            hidden = torch.ones(tokens, tokens, dtype=torch.bool, device=qkv.device).triu(1)
        return self._attend(qkv[:, :, 0], qkv[:, :, 1:], hidden, key_padding_mask)


class CrossAttention(_Plain):
    """Attention from one sequence to another step by step."""

    @_initializer
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._set(**options)

    def forward(
        self, q: Tensor, kv: Tensor, causal: bool | None = None, key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Attend; queries and keys end at the same position; see :class:`SelfAttention`."""
        assert (kv.shape[0], kv.shape[4]) == (q.shape[0], q.shape[3])
        hidden = None
        if self.causal if causal is None else causal:
            keys: Any = kv.shape[1]
            if key_padding_mask is not None:
                keys = key_padding_mask.sum(-1)[:, None, None, None]
            row = torch.arange(q.shape[1], device=q.device)[:, None]
            hidden = torch.arange(kv.shape[1], device=q.device) > row + keys - q.shape[1]
        return self._attend(q, kv, hidden, key_padding_mask)


def _require_bounds(cu_seqlens: Tensor | None, max_seqlen: int | None) -> None:
    assert cu_seqlens is not None
    assert cu_seqlens.dtype == torch.int32
    assert isinstance(max_seqlen, int)
