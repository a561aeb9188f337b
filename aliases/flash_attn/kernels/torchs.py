"""Attention on other devices by torch's scaled_dot_product_attention, where it has a fused kernel there."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend
from torch.nn.functional import scaled_dot_product_attention


def direct(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor | None:
    """Compute attention, differentiably; see :func:`morph.aliases.flash_attn.kernels.direct`."""
    if torch._C._is_any_autocast_enabled():
        return None  # it would choose the dtype
    inputs = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    options: dict[str, Any] = {
        "is_causal": causal,
        "scale": scale,
        "enable_gqa": query.shape[2] != key.shape[2],
    }
    if torch._fused_sdp_choice(*inputs, **options) == SDPBackend.MATH.value:
        return None  # it would make a matrix of all scores
    return scaled_dot_product_attention(*inputs, **options).transpose(1, 2).contiguous()
