"""The forms of heads, and of the logarithms of the softmax's sums, that the functions take and return."""

from __future__ import annotations

import torch
from torch import Tensor

from .inputs import Inputs
from .packed import PackedBias


def by_head(inputs: Inputs, needs_gradient: bool) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return queries, keys, values and the matrix with one dimension of heads.

    Keys that several heads share, by ``expand``, have fewer heads, unless they need a gradient of each.
    """
    query, key, value, matrix = inputs.query, inputs.key, inputs.value, inputs.matrix
    if query.ndim == 5:
        query, matrix = query.flatten(2, 3), None if matrix is None else matrix.flatten(1, 2)
        if not needs_gradient and _shared(key, value):
            return query, key[:, :, :, 0], value[:, :, :, 0], matrix
        return query, key.flatten(2, 3), value.flatten(2, 3), matrix
    if not needs_gradient and _shared(key, value):
        return query, key[:, :, :1], value[:, :, :1], matrix
    return query, key, value, matrix


def delivered(inputs: Inputs, lse: Tensor, packed: bool) -> Tensor:
    """Return the sums' logarithms, of shape (batch, heads, queries), as an operator does.

    Args:
        inputs: The arguments.
        lse: The logarithms; infinity where no key is seen, which is minus infinity for a part of the keys.
        packed: Whether sequences of different lengths follow each other; else each is padded.
    """
    if inputs.is_partial:
        lse = lse.masked_fill(lse == torch.inf, -torch.inf)
    bias = inputs.attn_bias
    if isinstance(bias, PackedBias) and not packed:
        info = bias.q_seqinfo
        padded = lse.new_full((len(info.seqstart_py) - 1, lse.shape[1], info.max_seqlen), torch.inf)
        for index, (start, end) in enumerate(info.intervals()):
            padded[index, :, : end - start] = lse[0, :, start:end]
        lse = padded
    return lse.view(len(lse), *inputs.query.shape[2:4], -1) if inputs.query.ndim == 5 else lse


def received(inputs: Inputs, lse: Tensor) -> Tensor:
    """Undo :func:`delivered`.

    Raises:
        ValueError: If ``lse`` has another shape.
    """
    if lse.ndim != inputs.query.ndim - 1 or lse.shape[1:-1] != inputs.query.shape[2:-1]:
        shapes = f"lse {tuple(lse.shape)}, query {tuple(inputs.query.shape)}"
        raise ValueError(f"Input tensors have incompatible shapes: {shapes}")
    lse = lse.flatten(1, 2) if inputs.query.ndim == 5 else lse
    queries, bias = inputs.query.shape[1], inputs.attn_bias
    if lse.shape[0] == inputs.query.shape[0] and lse.shape[-1] >= queries:
        return lse[..., :queries]
    if not isinstance(bias, PackedBias) or lse.shape[0] != len(bias.q_seqinfo.seqstart_py) - 1:
        raise ValueError(
            f"lse has shape {tuple(lse.shape)}, for queries of shape {tuple(inputs.query.shape)}"
        )
    rows = zip(lse.unbind(), bias.q_seqinfo.intervals(), strict=True)
    return torch.cat([row[:, : end - start] for row, (start, end) in rows], 1)[None]


def is_packed(inputs: Inputs, lse: Tensor) -> bool | None:
    """Return in which form the logarithms are; None if both forms are the same."""
    bias = inputs.attn_bias
    if not isinstance(bias, PackedBias) or len(bias.q_seqinfo.seqstart_py) <= 2:
        return None
    return lse.shape[0] == 1


def _shared(key: Tensor, value: Tensor) -> bool:
    """Return whether the heads (of a group) are one."""
    if key.ndim == 5:
        return all(each.stride(3) == 0 or each.shape[3] == 1 for each in (key, value))
    return key.shape[2] > 1 and key.stride(2) == value.stride(2) == 0
