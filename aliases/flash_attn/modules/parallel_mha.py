"""Multi-head attention whose heads are spread over processes (tensor and sequence parallel)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, distributed

from ..ops.parallel_dense import ColumnParallelLinear, RowParallelLinear
from ..utils.distributed import get_dim_for_local_rank
from .attention import MultiHeadAttention, alibi_slopes_of, get_alibi_slopes
from .inner import FLASH, PLAIN


class ParallelMHA(MultiHeadAttention):
    """Multi-head attention whose heads are spread over processes; see :class:`.mha.MHA` for what is not
    listed.

    Args:
        embed_dim: The size of a token.
        num_heads: How many heads there are, on all processes.
        process_group: The processes.
        num_heads_kv: How many heads keys and values have, on all processes; None for ``num_heads``.
        qkv_proj_bias: Whether the projection to queries, keys and values has a bias.
        out_proj_bias: Whether the last projection has a bias.
        dropout: The probability that a weight is dropped, in training.
        softmax_scale: What the product of a query and a key is multiplied by.
        causal: Whether a query sees no key after its own position.
        layer_idx: Which cache is this layer's.
        rotary_emb_dim: How many elements of each head are rotated.
        rotary_emb_base: The largest wavelength.
        rotary_emb_scale_base: In how many tokens XPos shrinks.
        rotary_emb_interleaved: Whether neighbours are rotated with each other.
        use_alibi: Whether scores fall with the distance.
        window_size: How many keys before and after its own position a query sees.
        use_flash_attn: Whether to attend with flash_attn, or step by step.
        checkpointing: Whether the backward pass computes attention again.
        sequence_parallel: Whether each process has a part of the tokens, and not all.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        process_group: Any,
        num_heads_kv: int | None = None,
        qkv_proj_bias: bool = True,
        out_proj_bias: bool = True,
        dropout: float = 0.0,
        softmax_scale: float | None = None,
        causal: bool = False,
        layer_idx: int | None = None,
        rotary_emb_dim: int = 0,
        rotary_emb_base: float = 10000.0,
        rotary_emb_scale_base: float | None = None,
        rotary_emb_interleaved: bool = False,
        use_alibi: bool = False,
        window_size: tuple[int, int] = (-1, -1),
        use_flash_attn: bool = False,
        checkpointing: bool = False,
        sequence_parallel: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.embed_dim, self.num_heads, self.process_group = embed_dim, num_heads, process_group
        self.num_heads_kv = num_heads if num_heads_kv is None else num_heads_kv
        self.causal, self.layer_idx, self.checkpointing = causal, layer_idx, checkpointing
        self.rotary_emb_dim, self.use_flash_attn = rotary_emb_dim, use_flash_attn
        self.world_size, self.local_rank = process_group.size(), distributed.get_rank(process_group)
        assert embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads"
        assert self.num_heads % self.num_heads_kv == 0, "num_heads must be divisible by num_heads_kv"
        self.head_dim = embed_dim // num_heads
        place = self.world_size, self.local_rank
        self.num_heads_per_rank = get_dim_for_local_rank(num_heads, *place)
        self.num_heads_kv_per_rank = get_dim_for_local_rank(self.num_heads_kv, *place)
        slopes = self._slopes(device) if use_alibi else None
        self.make_rotary(rotary_emb_base, rotary_emb_scale_base, rotary_emb_interleaved, device)
        qkv_dim = self.head_dim * (num_heads + 2 * self.num_heads_kv)
        shared: dict[str, Any] = {"sequence_parallel": sequence_parallel, "device": device, "dtype": dtype}
        group_size = self.head_dim * (num_heads // self.num_heads_kv + 2)
        self.Wqkv = ColumnParallelLinear(
            embed_dim, qkv_dim, process_group, bias=qkv_proj_bias, multiple_of=group_size, **shared
        )
        options = {"causal": causal, "softmax_scale": softmax_scale, "attention_dropout": dropout}
        self.make_inner(FLASH, PLAIN, slopes, window_size, **options)
        self.out_proj = RowParallelLinear(
            embed_dim, embed_dim, process_group, bias=out_proj_bias, multiple_of=self.head_dim, **shared
        )

    def allocate_inference_cache(
        self, batch_size: int, max_seqlen: int, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Return an empty cache of this process's keys and values, for so many sequences and tokens."""
        return self.cache(batch_size, max_seqlen, self.num_heads_kv_per_rank, dtype)

    def forward(
        self, x: Tensor, seqlen: int | None = None, inference_params: Any = None, **kwargs: Any
    ) -> Tensor:
        """Attend.

        Args:
            x: Of shape (batch, tokens, embed_dim), or (batch x tokens, embed_dim) with ``seqlen``.
            seqlen: How many tokens each sequence has.
            inference_params: The caches of a generation, an ``InferenceParams``.
            **kwargs: For the module that attends.

        Returns:
            Of the shape of ``x``.
        """
        qkv = self.Wqkv(x)
        if seqlen is not None:
            qkv = qkv.reshape(-1, seqlen, qkv.shape[-1])
        if self.num_heads_kv == self.num_heads:
            packed = qkv.reshape(*qkv.shape[:-1], 3, -1, self.head_dim)
            context = self.context_of_packed(packed, inference_params, **kwargs)
        else:
            q, kv = qkv.tensor_split([self.num_heads_per_rank * self.head_dim], dim=-1)
            q = q.reshape(*q.shape[:-1], -1, self.head_dim)
            kv = kv.reshape(*kv.shape[:-1], 2, -1, self.head_dim)
            context = self.context_of_separate(q, kv, inference_params, **kwargs)
        context = context.flatten(-2)
        out: Tensor = self.out_proj(context if seqlen is None else context.flatten(0, 1))
        return out

    def _slopes(self, device: Any) -> Tensor:
        local = math.ceil(self.num_heads / self.world_size)
        own = get_alibi_slopes(self.num_heads)[self.local_rank * local : (self.local_rank + 1) * local]
        return alibi_slopes_of(own, self.use_flash_attn, device)
