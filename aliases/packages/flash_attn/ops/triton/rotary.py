"""Rotary position embedding."""

from __future__ import annotations

import torch
from torch import Tensor


def apply_rotary(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    seqlen_offsets: int | Tensor = 0,
    cu_seqlens: Tensor | None = None,
    max_seqlen: int | None = None,
    interleaved: bool = False,
    inplace: bool = False,
    conjugate: bool = False,
) -> Tensor:
    """Rotate the first ``2 * cos.shape[1]`` elements of each head, in float32.

    See :func:`flash_attn.layers.rotary.apply_rotary_emb` for the arguments. Past the last position of ``cos``
    and ``sin``, nothing is rotated; ``conjugate`` rotates backwards.

    Raises:
        AssertionError: If the shapes do not fit.
    """
    seqlen, batch = _sizes(x, cu_seqlens, max_seqlen)
    _require(x, cos, sin, seqlen_offsets, seqlen, batch)
    cos, sin = _at_positions(x, cos, sin, seqlen_offsets, cu_seqlens)
    rotary_dim = 2 * cos.shape[-1]
    given, x = x, x.data  # hides the in-place change from autograd, also in views that others hold
    out = x if inplace else torch.empty_like(x)
    if not inplace:
        out[..., rotary_dim:] = x[..., rotary_dim:]
    halves = slice(0, rotary_dim // 2), slice(rotary_dim // 2, rotary_dim)
    first, second = (slice(0, rotary_dim, 2), slice(1, rotary_dim, 2)) if interleaved else halves
    a, b = x[..., first].float(), x[..., second].float()
    sin = -sin if conjugate else sin
    rotated = a * cos - b * sin, a * sin + b * cos
    out[..., first], out[..., second] = rotated
    return given if inplace else out


def _sizes(x: Tensor, cu_seqlens: Tensor | None, max_seqlen: int | None) -> tuple[int, int]:
    if cu_seqlens is None:
        return x.shape[1], x.shape[0]
    assert max_seqlen is not None, "If cu_seqlens is passed in, then max_seqlen must be passed"
    return max_seqlen, cu_seqlens.shape[0] - 1


def _require(x: Tensor, cos: Tensor, sin: Tensor, offsets: int | Tensor, seqlen: int, batch: int) -> None:
    seqlen_ro, half = cos.shape
    assert sin.shape == cos.shape
    assert 2 * half <= x.shape[-1], "rotary_dim must be <= headdim"
    assert x.shape[-1] <= 256, "Only support headdim <= 256"
    assert seqlen_ro >= seqlen, "seqlen_ro must be >= seqlen"
    if isinstance(offsets, Tensor):
        assert offsets.shape == (batch,)
        assert offsets.dtype in (torch.int32, torch.int64)
    else:
        assert offsets + seqlen <= seqlen_ro


def _at_positions(
    x: Tensor, cos: Tensor, sin: Tensor, offsets: int | Tensor, cu_seqlens: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of each token, float32, which broadcast with a tensor shaped like ``x``."""
    if cu_seqlens is None and not isinstance(offsets, Tensor):
        own = slice(offsets, offsets + x.shape[1])
        return cos[own, None].float(), sin[own, None].float()
    positions = _positions(x, offsets, cu_seqlens)
    inside = (positions < cos.shape[0])[..., None, None]
    index = positions.clamp(max=cos.shape[0] - 1)
    cos, sin = cos[index][..., None, :].float(), sin[index][..., None, :].float()
    return torch.where(inside, cos, 1.0), torch.where(inside, sin, 0.0)


def _positions(x: Tensor, offsets: int | Tensor, cu_seqlens: Tensor | None) -> Tensor:
    if cu_seqlens is None:
        assert isinstance(offsets, Tensor)
        return offsets[:, None] + torch.arange(x.shape[1], device=x.device)
    token = torch.arange(x.shape[0], device=x.device)
    sequence = torch.searchsorted(cu_seqlens, token, right=True).sub_(1).clamp_(max=len(cu_seqlens) - 2)
    start = offsets[sequence] if isinstance(offsets, Tensor) else offsets
    return token - cu_seqlens[sequence] + start
