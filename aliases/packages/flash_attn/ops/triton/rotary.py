"""Rotary position embedding."""

from __future__ import annotations

import torch
from torch import Tensor

from morph.aliases.attention.rotary import rotate

from ..._morph.original import recorded


@recorded(__name__)
def apply_rotary(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    seqlen_offsets: int | Tensor,
    cu_seqlens: Tensor | None,
    max_seqlen: int | None,
    **options: bool,
) -> Tensor:
    """Rotate the first ``2 * cos.shape[1]`` elements of each head, in float32.

    See :func:`flash_attn.layers.rotary.apply_rotary_emb` for the arguments. Past the last position of ``cos``
    and ``sin``, nothing is rotated; ``conjugate`` rotates backwards.

    Raises:
        AssertionError: If the shapes do not fit.
    """
    seqlen, batch = _sizes(x, cu_seqlens, max_seqlen)
    _require(x, cos, sin, seqlen_offsets, seqlen, batch)
    return rotate(x, cos, sin, seqlen_offsets, cu_seqlens, **options)


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
