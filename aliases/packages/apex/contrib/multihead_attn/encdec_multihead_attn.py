"""Attention of one sequence to another."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor, nn

from ...normalization import FusedLayerNorm as FusedLayerNorm
from .attention import Attention, only_mask
from .attention import jit_dropout_add as jit_dropout_add
from .encdec_multihead_attn_func import encdec_attn_func
from .fast_encdec_multihead_attn_func import fast_encdec_attn_func
from .fast_encdec_multihead_attn_norm_add_func import fast_encdec_attn_norm_add_func


class EncdecMultiheadAttn(Attention):
    """Attention of one sequence to another; arguments as ``Attention``.

    Raises:
        AssertionError: If options do not fit together: there are no biases with ``"fast"``.
    """

    in_proj_weight_q: Tensor
    in_proj_weight_kv: Tensor

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = False,
        include_norm_add: bool = False,
        impl: str = "fast",
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout, bias, include_norm_add, impl)
        assert not bias or impl != "fast", "ERROR! The Fast implementation does not support biases!"
        self._add_parameters(bias, in_proj__q=1, in_proj__kv=2, out_proj=1)
        self._add_normalisation()
        self.reset_parameters()
        functions = {
            ("fast", True): fast_encdec_attn_norm_add_func,
            ("fast", False): fast_encdec_attn_func,
        }
        self.attn_func: Any = functions.get((impl, include_norm_add), encdec_attn_func)

    def reset_parameters(self) -> None:
        """Set weights at random, biases to zero, and the normalisation to one."""
        nn.init.xavier_uniform_(self.in_proj_weight_q)
        nn.init.xavier_uniform_(self.in_proj_weight_kv, gain=math.sqrt(1.5))
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
        """Attend; arguments as ``SelfMultiheadAttn.forward``, but that ``key`` is what is asked."""
        mask = only_mask(key_padding_mask, attn_mask)
        first = (attn_mask is not None, is_training, self.num_heads)
        weights = (self.in_proj_weight_q, self.in_proj_weight_kv, self.out_proj_weight)
        if self.impl == "fast":
            norm = (self.lyr_nrm_gamma_weights, self.lyr_nrm_beta_weights) if self.include_norm_add else ()
            return self.attn_func(*first, query, key, *norm, *weights, mask, self.dropout), None
        biases = (self.in_proj_bias_q, self.in_proj_bias_kv, self.out_proj_bias)

        def attend(inputs: Tensor) -> Tensor:
            last = (*weights, *biases, mask, self.dropout)
            outputs: Tensor = self.attn_func(*first, self.scaling, inputs, key, *last)
            return outputs

        return self._normalised_and_added(query, attend, is_training), None
