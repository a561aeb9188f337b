"""Attention on the CPU with the kernel of torch's scaled_dot_product_attention, which also returns the sums.

A mask other than the square causal one is created for one block of queries at a time, and omitted if all keys
are visible. Keys and values of different sizes are padded with zeros, since the kernel requires one size.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .options import Attention, Gradients, Saved, Tile

_ELEMENTS = 1 << 23  # of a mask
_QUERIES = 1024  # of a mask

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def direct(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor | None:
    """Compute attention, differentiably; see :func:`morph.aliases.attention.kernels.direct`."""
    if query.dtype != torch.float32 and _wants_gradients(query, key, value):
        return None  # see backward
    by_head = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    out, _ = torch._scaled_dot_product_flash_attention_for_cpu(*by_head, is_causal=causal, scale=scale)
    return out.transpose(1, 2)


def takes(attention: Attention, query: Tensor, value: Tensor) -> bool:
    """Return whether the kernel computes exactly this; its sum is wrong where a matrix hides all keys."""
    return attention.softcap == 0 and attention.dropout == 0 and attention.matrix is None


def forward(attention: Attention, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Compute attention; see :func:`morph.aliases.attention.kernels.forward`."""
    if query.shape[-1] != value.shape[-1]:
        out, lse = forward(attention, *_of_one_size(query, key, value))
        return out[..., : value.shape[-1]].contiguous(), lse
    rows = _rows(attention, query, key)
    if len(rows) == 1 and rows[0].last - rows[0].first == query.shape[1]:
        out, lse = _forward(*_by_head(rows[0], query, key, value), **_options(attention, rows[0], query))
        return out.transpose(1, 2), lse.contiguous()
    out = torch.zeros_like(query, memory_format=torch.contiguous_format)
    lse = query.new_full((query.shape[0], query.shape[2], query.shape[1]), math.inf, dtype=torch.float32)
    for row in rows:
        part, sums = _forward(*_by_head(row, query, key, value), **_options(attention, row, query))
        out[:, row.first : row.last] = part.transpose(1, 2)
        lse[:, :, row.first : row.last] = sums
    return out, lse


def backward(attention: Attention, saved: Saved) -> Gradients:
    """Compute the gradients; see :func:`morph.aliases.attention.kernels.backward`."""
    _, query, key, value, *_ = saved
    if query.shape[-1] != value.shape[-1]:
        grads = backward(attention, Saved._make([*_of_one_size(*saved[:5]), saved.lse]))
        pairs = zip((query, key, value), grads, strict=True)
        return tuple(each[..., : like.shape[-1]] for like, each in pairs)  # type: ignore[return-value]
    if query.dtype != torch.float32:  # the kernel rounds the sums over the queries again at each block
        saved = Saved(*(each.float() for each in saved))
    rows = _rows(attention, query, key)
    if len(rows) == 1 and (rows[0].first, rows[0].start, rows[0].end) == (0, 0, key.shape[1]):
        return _row_backward(attention, rows[0], saved)
    query_grad, key_grad, value_grad = (torch.zeros_like(x, dtype=torch.float32) for x in (query, key, value))
    for row in rows:
        parts = _row_backward(attention, row, saved)
        query_grad[:, row.first : row.last] = parts[0]
        key_grad[:, row.start : row.end] += parts[1]
        value_grad[:, row.start : row.end] += parts[2]
    return query_grad, key_grad, value_grad


def _wants_gradients(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(each.requires_grad for each in tensors)


def _row_backward(attention: Attention, row: Tile, saved: Saved) -> Gradients:
    (grad, query, key, value, out, lse), own = saved, slice(row.first, row.last)
    inputs = grad[:, own].transpose(1, 2), *_by_head(row, query, key, value), out[:, own].transpose(1, 2)
    grads = _backward(*inputs, lse[:, :, own], 0.0, **_options(attention, row, query))
    return tuple(each.transpose(1, 2) for each in grads)


def _rows(attention: Attention, query: Tensor, key: Tensor) -> list[Tile]:
    """Split the scores so that one call of the kernel computes each part."""
    batch, queries, heads, _ = query.shape
    whole = attention.tile(queries, key.shape[1])
    if whole.first == whole.last:
        return []
    needs_no_mask = not attention.cuts(whole) or attention.is_causal_square(whole)
    if needs_no_mask and attention.alibi_slopes is None:
        return [whole]
    slopes = attention.alibi_slopes
    masks = 1 if slopes is None else heads if slopes.dim() == 1 else batch * heads
    size = min(_QUERIES, max(32, _ELEMENTS // ((whole.end - whole.start) * masks)))
    return list(attention.rows(queries, key.shape[1], size))


def _options(attention: Attention, row: Tile, query: Tensor) -> dict[str, Any]:
    causal = attention.alibi_slopes is None and attention.is_causal_square(row)
    mask = None if causal else _mask(attention, row, query)
    return {"is_causal": causal, "attn_mask": mask, "scale": attention.scale}


def _mask(attention: Attention, row: Tile, query: Tensor) -> Tensor | None:
    """Return the additive mask for the scores of ``row``, or None if there is none."""
    bias = attention.bias(row)
    if bias is None:
        return attention.mask(row, query)
    hidden = attention.hidden(row, query.device)
    return bias if hidden is None else bias.masked_fill_(hidden, -math.inf)


def _of_one_size(*tensors: Tensor) -> list[Tensor]:
    """Return tensors padded with zeros to the size of the largest heads."""
    size = max(each.shape[-1] for each in tensors)
    return [functional.pad(each, [0, size - each.shape[-1]]) for each in tensors]


def _by_head(row: Tile, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    keys = slice(row.start, row.end)
    parts = query[:, row.first : row.last], key[:, keys], value[:, keys]
    return tuple(each.transpose(1, 2) for each in parts)  # type: ignore[return-value]
