"""The weights of the softmax as flash_attn's kernels leave them, negative where dropout dropped them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .blockwise import KEYS, LEAST, Scores
from .options import Attention


def weights(attention: Attention, query: Tensor, key: Tensor, out: Tensor) -> None:
    """Compute the weights, negative where dropped, before they are divided by their sum.

    The kernels process blocks of keys from the last to the first, and a weight is relative to the largest
    score of its block and those after it.

    Args:
        attention: The options.
        query: Of shape (batch, queries, heads, head size).
        key: Of shape (batch, keys, key heads, head size).
        out: Of shape (batch, heads, queries or more, keys padded to a multiple of 128), zeros.
    """
    scores = Scores(attention, query, key)
    size = block_size(query.device, query.shape[-1], attention.dropout > 0, causal=attention.right == 0)
    for row in scores.rows():
        part = out[:, :, row.first : row.last]
        relative = torch.full_like(part, -math.inf, dtype=torch.float32)
        signs = torch.ones_like(part)
        for tile in row.columns(KEYS):
            columns, kept = slice(tile.start, tile.end), scores.kept(tile)
            shape = *relative.shape[:3], tile.end - tile.start
            relative[..., columns] = scores.of(tile)[0].view(shape)
            if kept is not None:
                signs[..., columns].masked_fill_(kept.view(shape) == 0, -1)
        part.copy_(_unnormalized(relative, size)).mul_(signs)


def block_size(device: torch.device, head_size: int, dropout: bool, causal: bool) -> int:
    """Return the number of keys in a block of flash_attn's kernels, on a GPU of the device's capability.

    Args:
        device: The device.
        head_size: At most 256.
        dropout: Whether weights are dropped.
        causal: Whether a query sees no later key.
    """
    assert head_size <= 256
    if head_size <= 64:
        return 64 if dropout and head_size > 32 else 128
    if not 96 < head_size <= 128:
        return 64
    major, minor = torch.cuda.get_device_capability(device)
    little_memory = major == 8 and minor > 0
    return 32 if dropout or (little_memory and not causal) else 64


def _unnormalized(scores: Tensor, size: int) -> Tensor:
    blocks = scores.view(*scores.shape[:-1], -1, size)
    largest = blocks.amax(-1).flip(-1).cummax(-1).values.flip(-1).clamp_min_(LEAST)
    weights: Tensor = (blocks - largest[..., None]).exp_().flatten(-2)
    return weights
