"""Calls that the device's kernel accepts unchanged: no option except the causal mask.

The kernel's own gradients are used, and only the output is computed, so that a call costs what torch's
attention costs. Calls with other options or invalid arguments are left to the operators, which raise
flash_attn's errors; and so is every call that someone observes, who should see the operators.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from morph.aliases import attention as kernels

from .checks import DTYPES, on_device

_PLAIN = {Tensor}


def attend(q: Tensor, k: Tensor, v: Tensor, softmax_scale: float | None, causal: bool) -> Tensor | None:
    """Compute attention for a batch of sequences of one length, differentiably.

    Args:
        q: Of shape (batch, queries, heads, head size).
        k: Of shape (batch, keys, key heads, head size).
        v: Of the shape of ``k``.
        softmax_scale: The factor of the query-key products; None for 1 / sqrt(head size).
        causal: Whether a query sees no key after its own position.

    Returns:
        The output, of the shape of ``q``; None if the operators have to handle the call.
    """
    if watched(q, k, v) or not _takes(q, k, v, causal):
        return None
    queries, size = q.shape[1], q.shape[3]
    scale = size**-0.5 if softmax_scale is None else softmax_scale
    return kernels.direct(q, k, v, scale, causal and queries > 1)


def watched(*tensors: Tensor) -> bool:
    """Return whether someone observes the operators: a compiler, a dispatch mode, or a tensor subclass."""
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0:
        return True
    return set(map(type, tensors)) != _PLAIN


def _takes(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> bool:
    """Return whether flash_attn accepts these tensors, and they are not empty and need no padding."""
    return (
        k.shape == v.shape
        and q.dtype == k.dtype == v.dtype
        and q.device == k.device == v.device
        and _fit(q.shape, k.shape, q.dtype, causal)
        and q.stride(3) == k.stride(3) == v.stride(3) == 1
        and on_device(q)
    )


@functools.lru_cache(1024)
def _fit(queries: torch.Size, keys: torch.Size, dtype: torch.dtype, causal: bool) -> bool:
    if len(queries) != 4 or len(keys) != 4 or dtype not in DTYPES or min(*queries, *keys) == 0:
        return False
    (batch, length, heads, size), (key_batch, key_length, key_heads, key_size) = queries, keys
    # torch's causal mask begins at the first key, flash_attn's ends at the last one
    one_mask = not causal or length in (1, key_length)
    sizes = (batch, size) == (key_batch, key_size) and size <= 256 and size % 8 == 0
    return one_mask and sizes and heads % key_heads == 0
