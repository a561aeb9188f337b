"""Attention of a sequence to itself."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ...normalization import FusedLayerNorm as FusedLayerNorm
from .attention import Attention, only_mask
from .attention import jit_dropout_add as jit_dropout_add
from .fast_self_multihead_attn_func import fast_self_attn_func
from .fast_self_multihead_attn_norm_add_func import fast_self_attn_norm_add_func
from .self_multihead_attn_func import self_attn_func


class SelfMultiheadAttn(Attention):
    """Attention of a sequence to itself.

    Args (the others are those of ``Attention``):
        separate_qkv_params: Whether queries, keys and values have parameters of their own.
        mask_additive: Whether masks of keys are added.

    Raises:
        AssertionError: If options do not fit together.
    """

    in_proj_weight: Tensor

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = False,
        include_norm_add: bool = False,
        impl: str = "fast",
        separate_qkv_params: bool = False,
        mask_additive: bool = False,
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout, bias, include_norm_add, impl)
        if mask_additive:
            assert not include_norm_add, "additive mask not supported with layer norm"
            assert impl == "default" or bias, "additive mask not supported for fast mode without bias"
        self.separate_qkv_params = separate_qkv_params
        self.mask_additive = mask_additive
        inputs = {"q": 1, "k": 1, "v": 1} if separate_qkv_params else {"in_proj": 3}
        self._add_parameters(bias, **inputs, out_proj=1)
        self._add_normalisation()
        self.reset_parameters()
        functions = {
            ("fast", True): fast_self_attn_norm_add_func,
            ("fast", False): fast_self_attn_func,
        }
        self.attn_func: Any = functions.get((impl, include_norm_add), self_attn_func)

    def reset_parameters(self) -> None:
        """Set weights at random, biases to zero, and the normalisation to one."""
        if self.separate_qkv_params:
            for name in "qkv":
                nn.init.xavier_uniform_(getattr(self, f"{name}_weight"))
        else:
            nn.init.xavier_uniform_(self.in_proj_weight, gain=math.sqrt(2))
        super().reset_parameters()

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
        attn_mask: Tensor | None = None,
        is_training: bool = True,
    ) -> tuple[Tensor, None]:
        """Attend.

        Args:
            query: The sequences, of shape (length, batch, size).
            key: Not looked at.
            value: Not looked at.
            key_padding_mask: Of shape (batch, length); where it is set, a key is not seen. None for all.
            need_weights: Not looked at.
            attn_mask: Of shape (length, length), instead; where it is set, a time is not seen.
            is_training: Whether to drop.

        Returns:
            A tensor of the query's shape, and None.

        Raises:
            AssertionError: If there are both masks, or times are to be masked by addition.
        """
        mask = only_mask(key_padding_mask, attn_mask)
        assert attn_mask is None or not self.mask_additive, "additive mask not supported for time mask"
        first = (attn_mask is not None, is_training, self.num_heads)
        weights = (self._joined("weight"), self.out_proj_weight)
        if self.include_norm_add and self.impl == "fast":
            norm = (self.lyr_nrm_gamma_weights, self.lyr_nrm_beta_weights)
            return self.attn_func(*first, query, *norm, *weights, mask, self.dropout), None
        biases = (self._joined("bias"), self.out_proj_bias)
        last = (*weights, *biases, mask, self.mask_additive, self.dropout)
        scale = (self.scaling,) if self.impl == "default" else ()

        def attend(inputs: Tensor) -> Tensor:
            outputs: Tensor = self.attn_func(*first, *scale, inputs, *last)
            return outputs

        return self._normalised_and_added(query, attend, is_training), None

    def _joined(self, kind: str) -> Tensor | None:
        """Return the weights or biases of the inputs, with those of a head side by side."""
        if not self.separate_qkv_params:
            joined: Tensor | None = getattr(self, f"in_proj_{kind}")
            return joined
        parts = [getattr(self, f"{name}_{kind}") for name in "qkv"]
        if parts[0] is None:
            return None
        by_head = [part.unflatten(0, (self.num_heads, 1, self.head_dim)) for part in parts]
        return torch.cat(by_head, dim=1).flatten(0, 2)
