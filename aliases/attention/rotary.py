"""Rotary position embedding: pairs of elements of each head are rotated by their token's position."""

from __future__ import annotations

import torch
from torch import Tensor


def rotate(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    offsets: int | Tensor = 0,
    ends: Tensor | None = None,
    interleaved: bool = False,
    inplace: bool = False,
    conjugate: bool = False,
) -> Tensor:
    """Rotate the first ``2 * cos.shape[1]`` elements of each head, in float32.

    Past the last position of ``cos`` and ``sin``, nothing is rotated.

    Args:
        x: Of shape (batch, tokens, heads, head size), or (all tokens, heads, head size) with ``ends``.
        cos: Cosines of shape (positions, half of the rotated size).
        sin: Sines of the same shape.
        offsets: The position of the first token; as a tensor of shape (batch,), of each sequence.
        ends: Of shape (batch + 1,): where each sequence begins, and the last one ends.
        interleaved: Whether neighbours are rotated with each other, or one half with the other.
        inplace: Whether ``x`` itself is rotated.
        conjugate: Whether to rotate backwards.

    Returns:
        The rotated tensor.
    """
    cos, sin = _at_positions(x, cos, sin, offsets, ends)
    size = 2 * cos.shape[-1]
    given, x = x, x.data  # hides the in-place change from autograd, also in views that others hold
    out = x if inplace else torch.empty_like(x)
    if not inplace:
        out[..., size:] = x[..., size:]
    halves = slice(0, size // 2), slice(size // 2, size)
    first, second = (slice(0, size, 2), slice(1, size, 2)) if interleaved else halves
    a, b = x[..., first].float(), x[..., second].float()
    sin = -sin if conjugate else sin
    rotated = a * cos - b * sin, a * sin + b * cos
    out[..., first], out[..., second] = rotated
    return given if inplace else out


def _at_positions(
    x: Tensor, cos: Tensor, sin: Tensor, offsets: int | Tensor, ends: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of each token, float32, which broadcast with a tensor shaped like ``x``."""
    if ends is None and not isinstance(offsets, Tensor):
        own = slice(offsets, offsets + x.shape[1])
        return cos[own, None].float(), sin[own, None].float()
    positions = _positions(x, offsets, ends)
    inside = (positions < cos.shape[0])[..., None, None]
    index = positions.clamp(max=cos.shape[0] - 1)
    cos, sin = cos[index][..., None, :].float(), sin[index][..., None, :].float()
    return torch.where(inside, cos, 1.0), torch.where(inside, sin, 0.0)


def _positions(x: Tensor, offsets: int | Tensor, ends: Tensor | None) -> Tensor:
    if ends is None:
        assert isinstance(offsets, Tensor)
        return offsets[:, None] + torch.arange(x.shape[1], device=x.device)
    token = torch.arange(x.shape[0], device=x.device)
    sequence = torch.searchsorted(ends, token, right=True).sub_(1).clamp_(max=len(ends) - 2)
    start = offsets[sequence] if isinstance(offsets, Tensor) else offsets
    return token - ends[sequence] + start
