"""What multi-head attention with and without tensor parallelism has in common: positions and caches."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..decoding import flash_attn_with_kvcache
from ..layers.rotary import RotaryEmbedding


def get_alibi_slopes(nheads: int) -> list[float]:
    """Return the slopes of ALiBi for each head: powers of a common ratio (https://arxiv.org/abs/2108.12409)."""
    closest = 2 ** math.floor(math.log2(nheads))
    ratio = 2 ** -(8 / closest)
    slopes = [ratio ** (head + 1) for head in range(closest)]
    return slopes if closest == nheads else slopes + get_alibi_slopes(2 * closest)[::2][: nheads - closest]


def update_kv_cache(kv: Tensor, inference_params: Any, layer_idx: int) -> Tensor:
    """Write keys and values into the cache of a layer, which is made if there is none.

    Args:
        kv: Of shape (batch, tokens, 2, key heads, head size).
        inference_params: An ``InferenceParams``, with the place to write to.
        layer_idx: Which layer's cache.

    Returns:
        What is in the cache, up to the last token.
    """
    caches = inference_params.key_value_memory_dict
    if layer_idx not in caches:
        sizes = inference_params.max_batch_size, inference_params.max_seqlen
        caches[layer_idx] = kv.new_empty(*sizes, *kv.shape[2:])
    first, start = inference_params.batch_size_offset, inference_params.seqlen_offset
    last, end = first + kv.shape[0], start + kv.shape[1]
    cache: Tensor = caches[layer_idx]
    assert last <= cache.shape[0]
    assert end <= cache.shape[1]
    cache[first:last, start:end] = kv
    return cache[first:last, :end]


class MultiHeadAttention(nn.Module):
    """What follows the projections: rotary embedding, a cache, and attention.

    Subclasses set the attributes, in ``__init__``.
    """

    layer_idx: int | None
    rotary_emb_dim: int
    use_flash_attn: bool
    checkpointing: bool
    head_dim: int
    inner_attn: nn.Module
    inner_cross_attn: nn.Module
    out_proj: nn.Linear
    rotary_emb: RotaryEmbedding

    def make_inner(
        self,
        flash: tuple[type[nn.Module], type[nn.Module]],
        plain: tuple[type[nn.Module], type[nn.Module]],
        alibi_slopes: Tensor | None,
        window_size: tuple[int, int],
        **options: Any,
    ) -> None:
        """Make the modules that attend, with flash_attn or without."""
        assert window_size == (-1, -1) or self.use_flash_attn, _NEEDS_FLASH.format(
            "Local (sliding window) attention"
        )
        local = {"alibi_slopes": alibi_slopes, "window_size": window_size}
        classes: Any = [partial(each, **local) for each in flash] if self.use_flash_attn else plain
        self.inner_attn, self.inner_cross_attn = (each(**options) for each in classes)

    def make_rotary(self, base: float, scale_base: float | None, interleaved: bool, device: Any) -> None:
        """Make the rotary embedding, if there is one."""
        if self.rotary_emb_dim > 0:
            self.rotary_emb = RotaryEmbedding(
                self.rotary_emb_dim, base=base, scale_base=scale_base, interleaved=interleaved, device=device
            )

    def cache(self, batch_size: int, max_seqlen: int, heads: int, dtype: torch.dtype | None) -> Tensor:
        """Return an empty cache of keys and values."""
        weight = self.out_proj.weight
        shape = batch_size, max_seqlen, 2, heads, self.head_dim
        return torch.empty(shape, dtype=weight.dtype if dtype is None else dtype, device=weight.device)

    def context_of_packed(self, qkv: Tensor, inference_params: Any, **kwargs: Any) -> Tensor:
        """Attend with ``qkv`` of shape (batch, tokens, 3, heads, head size), or (all tokens, 3, ...)."""
        if self._rotates_in_cache(inference_params):
            return self._apply_rotary_update_kvcache_attention(qkv[:, :, 0], qkv[:, :, 1:], inference_params)
        if self.rotary_emb_dim > 0:
            qkv = self.rotary_emb(qkv, **_positions(inference_params))
        if inference_params is not None:
            return self._update_kvcache_attention(qkv[:, :, 0], qkv[:, :, 1:], inference_params)
        return self._attended(self.inner_attn, qkv, **kwargs)

    def context_of_separate(self, q: Tensor, kv: Tensor, inference_params: Any, **kwargs: Any) -> Tensor:
        """Attend with ``q`` of (batch, tokens, heads, head size) and ``kv`` of (batch, keys, 2, ...)."""
        if self._rotates_in_cache(inference_params):
            return self._apply_rotary_update_kvcache_attention(q, kv, inference_params)
        if self.rotary_emb_dim > 0:
            q, kv = self.rotary_emb(q, kv, **_positions(inference_params))
        if inference_params is not None:
            return self._update_kvcache_attention(q, kv, inference_params)
        return self._attended(self.inner_cross_attn, q, kv, **kwargs)

    def _attended(self, inner: nn.Module, *inputs: Tensor, **kwargs: Any) -> Tensor:
        if self.checkpointing:
            return checkpoint(inner, *inputs, use_reentrant=False, **kwargs)  # type: ignore[no-any-return]
        return inner(*inputs, **kwargs)  # type: ignore[no-any-return]

    def _rotates_in_cache(self, inference_params: Any) -> bool:
        """Tell whether adding to the cache also rotates, which is faster."""
        decoding = inference_params is not None and inference_params.seqlen_offset > 0
        rotates = self.rotary_emb_dim > 0 and self.rotary_emb_dim % 16 == 0
        return decoding and rotates and self.use_flash_attn

    def _update_kv_cache(self, kv: Tensor, inference_params: Any) -> Tensor:
        assert self.layer_idx is not None, "Generation requires layer_idx in the constructor"
        return update_kv_cache(kv, inference_params, self.layer_idx)

    def _apply_rotary_update_kvcache_attention(self, q: Tensor, kv: Tensor, inference_params: Any) -> Tensor:
        rotary = self.rotary_emb
        assert rotary.scale is None, "This code path does not support xPos"
        rotary._update_cos_sin_cache(inference_params.max_seqlen, device=q.device, dtype=q.dtype)
        options = {"rotary_cos": rotary._cos_cached, "rotary_sin": rotary._sin_cached}
        return self._decoded(q, kv, inference_params, rotary_interleaved=rotary.interleaved, **options)

    def _update_kvcache_attention(self, q: Tensor, kv: Tensor, inference_params: Any) -> Tensor:
        if inference_params.seqlen_offset == 0 or not self.use_flash_attn:
            return self.inner_cross_attn(q, self._update_kv_cache(kv, inference_params))  # type: ignore[no-any-return]
        return self._decoded(q, kv, inference_params)

    def _decoded(self, q: Tensor, kv: Tensor, inference_params: Any, **rotary: Any) -> Tensor:
        batch, inner = q.shape[0], self.inner_cross_attn
        cache = inference_params.key_value_memory_dict[self.layer_idx][:batch]
        lengths = inference_params.lengths_per_sample
        return flash_attn_with_kvcache(  # type: ignore[return-value]
            q,
            cache[:, :, 0],
            cache[:, :, 1],
            kv[:, :, 0],
            kv[:, :, 1],
            cache_seqlens=inference_params.seqlen_offset if lengths is None else lengths[:batch],
            softmax_scale=inner.softmax_scale,  # type: ignore[arg-type]
            causal=inner.causal,  # type: ignore[arg-type]
            alibi_slopes=getattr(inner, "alibi_slopes", None),
            **rotary,
        )


_NEEDS_FLASH = "{} code path requires flash_attn"


def alibi_slopes_of(heads: list[float], use_flash_attn: bool, device: Any) -> Tensor:
    """Return slopes as a tensor; refused without flash_attn."""
    assert use_flash_attn, _NEEDS_FLASH.format("ALiBi")
    return torch.tensor(heads, device=device)


def _positions(inference_params: Any) -> dict[str, Any]:
    """Return the first positions of sequences that are being generated, and how many there will be."""
    if inference_params is None:
        return {}
    lengths = inference_params.lengths_per_sample
    offset = inference_params.seqlen_offset if lengths is None else lengths
    return {"seqlen_offset": offset, "max_seqlen": inference_params.max_seqlen}
