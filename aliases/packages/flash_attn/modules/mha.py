"""Multi-head attention with its projections."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .._morph.original import initializer
from ..flash_attn_interface import flash_attn_with_kvcache
from ..layers.rotary import RotaryEmbedding
from .inner import CrossAttention, FlashCrossAttention, FlashSelfAttention, SelfAttention

_initializer = initializer(__name__)


def get_alibi_slopes(nheads: int) -> list[float]:
    """Return the slopes of ALiBi for each head: powers of a common ratio (https://arxiv.org/abs/2108.12409)."""
    closest = 2 ** math.floor(math.log2(nheads))
    ratio = 2 ** -(8 / closest)
    slopes = [ratio ** (head + 1) for head in range(closest)]
    return slopes if closest == nheads else slopes + get_alibi_slopes(2 * closest)[::2][: nheads - closest]


class MHA(nn.Module):
    """Multi-head attention.

    Windows and ALiBi need ``use_flash_attn``, a cache needs a
    ``layer_idx``, convolutions are refused, and ``fused_bias_fc`` has no effect.
    """

    @_initializer
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        num_heads_kv: int | None,
        cross_attn: bool,
        causal: bool,
        use_alibi: bool,
        window_size: tuple[int, int],
        use_flash_attn: bool,
        device: Any,
        dtype: Any,
        **options: Any,
    ) -> None:
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.num_heads_kv = num_heads if num_heads_kv is None else num_heads_kv
        self.cross_attn, self.causal, self.use_flash_attn = cross_attn, causal, use_flash_attn
        if options["dwconv"]:
            raise NotImplementedError(
                "morph does not serve dwconv: use torch.nn.Conv1d after the projections"
            )
        self.layer_idx, self.rotary_emb_dim = options["layer_idx"], options["rotary_emb_dim"]
        self.return_residual, self.checkpointing = options["return_residual"], options["checkpointing"]
        assert self.num_heads % self.num_heads_kv == 0, "num_heads must be divisible by num_heads_kv"
        assert embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads"
        self.head_dim = embed_dim // num_heads
        kv_dim = 2 * self.head_dim * self.num_heads_kv
        if self.rotary_emb_dim > 0:
            assert not cross_attn, "MHA with rotary embedding does not support cross-attention yet"
            rotary = (options[f"rotary_emb_{name}"] for name in ("base", "interleaved", "scale_base"))
            self.rotary_emb = RotaryEmbedding(self.rotary_emb_dim, *rotary, device=device)
        qkv_proj_bias = options["qkv_proj_bias"]
        if cross_attn:
            self.Wq = nn.Linear(embed_dim, embed_dim, bias=qkv_proj_bias, **where)
            self.Wkv = nn.Linear(embed_dim, kv_dim, bias=qkv_proj_bias, **where)
        else:
            self.Wqkv = nn.Linear(embed_dim, embed_dim + kv_dim, bias=qkv_proj_bias, **where)
        slopes = torch.tensor(get_alibi_slopes(num_heads), device=device) if use_alibi else None
        classes: Any = SelfAttention, CrossAttention
        if use_flash_attn:
            local: dict[str, Any] = {"alibi_slopes": slopes, "window_size": window_size}
            classes = (partial(each, **local) for each in (FlashSelfAttention, FlashCrossAttention))
        assert use_flash_attn or not use_alibi, "ALiBi code path requires flash_attn"
        needs_flash = "Local (sliding window) attention code path requires flash_attn"
        assert use_flash_attn or window_size == (-1, -1), needs_flash
        inner = causal, options["softmax_scale"], options["dropout"]
        self.inner_attn, self.inner_cross_attn = (each(*inner) for each in classes)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=options["out_proj_bias"], **where)

    def allocate_inference_cache(
        self, batch_size: int, max_seqlen: int, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Return an empty cache of keys and values for this number of sequences and tokens."""
        weight = self.out_proj.weight
        shape = batch_size, max_seqlen, 2, self.num_heads_kv, self.head_dim
        return torch.empty(shape, dtype=weight.dtype if dtype is None else dtype, device=weight.device)

    def forward(
        self,
        x: Tensor,
        x_kv: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        cu_seqlens: Tensor | None = None,
        max_seqlen: int | None = None,
        mixer_subset: Any = None,
        inference_params: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Attend.

        Args:
            x: Of shape (batch, tokens, embed_dim), or (all tokens, embed_dim) with ``cu_seqlens``.
            x_kv: The sequence from which keys and values come, if it is another one.
            key_padding_mask: bool of shape (batch, tokens), False for padding; without flash_attn only.
            cu_seqlens: int32 of shape (batch + 1,): where each sequence begins; with flash_attn only.
            max_seqlen: The largest number of tokens in a sequence.
            mixer_subset: The tokens whose queries to use; for cross attention only.
            inference_params: The caches of a generation, with the attributes of ``InferenceParams``.
            **kwargs: Passed to the module that attends.

        Returns:
            Of the shape of ``x``; with ``return_residual`` also ``x``.
        """
        self._require(cu_seqlens, max_seqlen, key_padding_mask, inference_params)
        if self.use_flash_attn:
            kwargs = {"cu_seqlens": cu_seqlens, "max_seqlen": max_seqlen, **kwargs}
        else:
            kwargs = {"key_padding_mask": key_padding_mask, **kwargs}
        if self.cross_attn or self.num_heads_kv != self.num_heads:
            q, kv = self._queries_and_keys(x, x_kv, mixer_subset)
            context = self._context(inference_params, kwargs, q, kv)
        else:
            assert x_kv is None
            assert mixer_subset is None
            qkv = self.Wqkv(x)
            packed = qkv.reshape(*qkv.shape[:-1], 3, -1, self.head_dim)
            context = self._context(inference_params, kwargs, packed)
        out = self.out_proj(context.flatten(-2))
        return (out, x) if self.return_residual else out

    def _require(
        self, cu_seqlens: Any, max_seqlen: Any, key_padding_mask: Any, inference_params: Any
    ) -> None:
        if cu_seqlens is not None:
            assert max_seqlen is not None
            assert key_padding_mask is None
            assert self.use_flash_attn
            assert self.rotary_emb_dim == 0
        if key_padding_mask is not None:
            assert max_seqlen is None
            assert not self.use_flash_attn
        if inference_params is not None:
            assert key_padding_mask is None
            assert cu_seqlens is None

    def _queries_and_keys(self, x: Tensor, x_kv: Tensor | None, mixer_subset: Any) -> tuple[Tensor, Tensor]:
        if self.cross_attn:
            q = self.Wq(x if mixer_subset is None else x[:, mixer_subset])
            kv = self.Wkv(x if x_kv is None else x_kv)
        else:
            q, kv = self.Wqkv(x).tensor_split([self.num_heads * self.head_dim], dim=-1)
        q = q.reshape(*q.shape[:-1], -1, self.head_dim)
        return q, kv.reshape(*kv.shape[:-1], 2, -1, self.head_dim)

    def _context(self, inference_params: Any, kwargs: dict[str, Any], *inputs: Tensor) -> Tensor:
        """Rotate and attend, with one tensor of queries, keys and values, or with separate queries."""
        decoding = inference_params is not None and inference_params.seqlen_offset > 0
        if decoding and self.use_flash_attn and self.rotary_emb_dim > 0 and self.rotary_emb_dim % 16 == 0:
            return self._decoded(*_apart(inputs), inference_params, self._angles(inputs[0], inference_params))
        if self.rotary_emb_dim > 0:
            rotated = self.rotary_emb(*inputs, **_positions(inference_params))
            inputs = rotated if isinstance(rotated, tuple) else (rotated,)
        if inference_params is None:
            inner = self.inner_attn if len(inputs) == 1 else self.inner_cross_attn
            attend = partial(checkpoint, inner, use_reentrant=False) if self.checkpointing else inner
            return attend(*inputs, **kwargs)  # type: ignore[no-any-return]
        q, kv = _apart(inputs)
        if decoding and self.use_flash_attn:
            return self._decoded(q, kv, inference_params, {})
        return self.inner_cross_attn(q, self._update_kv_cache(kv, inference_params))  # type: ignore[no-any-return]

    def _angles(self, q: Tensor, inference_params: Any) -> dict[str, Any]:
        rotary = self.rotary_emb
        assert rotary.scale is None, "This code path does not support xPos"
        rotary._update_cos_sin_cache(inference_params.max_seqlen, device=q.device, dtype=q.dtype)
        angles = {"rotary_cos": rotary._cos_cached, "rotary_sin": rotary._sin_cached}
        return {**angles, "rotary_interleaved": rotary.interleaved}

    def _update_kv_cache(self, kv: Tensor, inference_params: Any) -> Tensor:
        """Write keys and values into the layer's cache, and return its content up to the last token."""
        assert self.layer_idx is not None, "Generation requires layer_idx in the constructor"
        caches = inference_params.key_value_memory_dict
        if self.layer_idx not in caches:
            sizes = inference_params.max_batch_size, inference_params.max_seqlen
            caches[self.layer_idx] = kv.new_empty(*sizes, *kv.shape[2:])
        first, start = inference_params.batch_size_offset, inference_params.seqlen_offset
        last, end = first + kv.shape[0], start + kv.shape[1]
        cache: Tensor = caches[self.layer_idx]
        assert last <= cache.shape[0]
        assert end <= cache.shape[1]
        cache[first:last, start:end] = kv
        return cache[first:last, :end]

    def _decoded(self, q: Tensor, kv: Tensor, inference_params: Any, rotary: dict[str, Any]) -> Tensor:
        batch, inner = q.shape[0], self.inner_cross_attn
        cache = inference_params.key_value_memory_dict[self.layer_idx][:batch]
        lengths = inference_params.lengths_per_sample
        options = {"softmax_scale": inner.softmax_scale, "causal": inner.causal, **rotary}
        options["cache_seqlens"] = inference_params.seqlen_offset if lengths is None else lengths[:batch]
        options["alibi_slopes"] = getattr(inner, "alibi_slopes", None)
        new = kv.unbind(2)
        return flash_attn_with_kvcache(q, *cache.unbind(2), *new, **options)  # type: ignore[no-any-return]


def _apart(inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Return the queries, and keys and values in one tensor."""
    return (inputs[0], inputs[1]) if len(inputs) == 2 else (inputs[0][:, :, 0], inputs[0][:, :, 1:])


def _positions(inference_params: Any) -> dict[str, Any]:
    """Return the first positions of sequences that are being generated, and the number of positions."""
    if inference_params is None:
        return {}
    lengths = inference_params.lengths_per_sample
    offset = inference_params.seqlen_offset if lengths is None else lengths
    return {"seqlen_offset": offset, "max_seqlen": inference_params.max_seqlen}
