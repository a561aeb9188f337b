"""Attention on other devices with torch's scaled_dot_product_attention, if it has a fused kernel for them."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend
from torch.nn.functional import scaled_dot_product_attention

_OPERATORS = {
    SDPBackend.FLASH_ATTENTION.value: "_scaled_dot_product_flash_attention",
    SDPBackend.EFFICIENT_ATTENTION.value: "_scaled_dot_product_efficient_attention",
    SDPBackend.CUDNN_ATTENTION.value: "_scaled_dot_product_cudnn_attention",
    SDPBackend.OVERRIDEABLE.value: "_scaled_dot_product_fused_attention_overrideable",
}


def direct(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor | None:
    """Compute attention, differentiably; see :func:`morph.aliases.attention.kernels.direct`."""
    if torch._C._is_any_autocast_enabled():
        return None  # it would choose the dtype
    inputs = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    options: dict[str, Any] = {
        "is_causal": causal,
        "scale": scale,
        "enable_gqa": query.shape[2] != key.shape[2],
    }
    if not _has_kernel(torch._fused_sdp_choice(*inputs, **options), query.device.type):
        return None  # torch would allocate a matrix of all scores
    return scaled_dot_product_attention(*inputs, **options).transpose(1, 2).contiguous()


@functools.cache
def _has_kernel(choice: int, device_type: str) -> bool:
    """Return whether a device has the chosen kernel; if it has none, the choice was made for the CPU."""
    if device_type == "cpu":
        return choice != SDPBackend.MATH.value
    key = torch._C._dispatch_key_for_device(device_type)
    name = _OPERATORS.get(choice)
    return name is not None and torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key)
