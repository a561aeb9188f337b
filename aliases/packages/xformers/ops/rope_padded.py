"""Rotary embeddings of new queries and keys, and their keys and values put into a padded cache."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .fmha.attn_bias import BlockDiagonalCausalWithOffsetPaddedKeysMask


def rope_padded(
    xq: Tensor,
    xk: Tensor,
    xv: Tensor,
    cache_k: Tensor,
    cache_v: Tensor,
    attn_bias: BlockDiagonalCausalWithOffsetPaddedKeysMask,
    *,
    theta: float = 10000.0,
    linear_scale: float = 1.0,
    use_dynamic_scaling: bool = False,
    dynamic_old_context_len: float = 8192.0,
    dynamic_scale_factor: float = 16.0,
    dynamic_low_freq_factor: float = 1.0,
    dynamic_high_freq_factor: float = 32.0,
    out_q: Tensor | None = None,
    first_seqpos: Tensor | None = None,
    seqpos: Tensor | None = None,
    adjacents: bool = True,
    internal_dtype: str = "",
) -> Tensor:
    """Rotate queries and keys by their positions, and write keys and values to the ends of their caches.

    ``xq`` is of shape (1, tokens, [groups,] heads, size), ``xk`` and ``xv`` likewise with key heads, and
    the caches (1, places, [groups,] key heads, size). The lengths of ``attn_bias`` include the new tokens.
    Positions are counted from ``first_seqpos`` of each sequence, or given by ``seqpos``, and divided by
    ``linear_scale``. ``use_dynamic_scaling`` stretches long wavelengths: in full above the old context
    divided by the low factor, not at all below that divided by the high one. ``adjacents`` rotates
    neighbours, else the halves of a head; ``internal_dtype`` may be "f64", else it is computed in float32.

    Returns:
        The rotated queries.

    Raises:
        ValueError: If the arguments do not fit, or gradients would be needed.
    """
    tensors = xq, xk, xv, cache_k, cache_v
    if torch.is_grad_enabled() and (out_q is not None or any(each.requires_grad for each in tensors)):
        raise ValueError("Gradients not supported.")
    _require(xq, xk, xv, cache_k, cache_v, attn_bias, first_seqpos, seqpos)
    places, positions = _places(attn_bias, first_seqpos, xq.device)
    dtype = torch.float64 if internal_dtype == "f64" else torch.float32
    scaling = None
    if use_dynamic_scaling:
        low, high = dynamic_low_freq_factor, dynamic_high_freq_factor
        scaling = dynamic_old_context_len, dynamic_scale_factor, low, high
    frequencies = _frequencies(xq.shape[-1], theta, scaling, xq.device, dtype)
    angles = (positions if seqpos is None else seqpos).to(dtype)[:, None] * frequencies / linear_scale
    heads = slice(0, cache_k.shape[-2]) if xk.stride(-2) else slice(0, 1)  # one head that several share
    cache_heads = heads if cache_k.stride(-2) else slice(0, 1)
    cache_k[0, places, ..., cache_heads, :] = _rotated(xk[0], angles, adjacents)[..., heads, :]
    cache_v[0, places, ..., cache_heads, :] = xv[0][..., heads, :]
    rotated = _rotated(xq[0], angles, adjacents)[None]
    return rotated if out_q is None else out_q.copy_(rotated)


def _require(
    xq: Tensor,
    xk: Tensor,
    xv: Tensor,
    cache_k: Tensor,
    cache_v: Tensor,
    bias: BlockDiagonalCausalWithOffsetPaddedKeysMask,
    first_seqpos: Tensor | None,
    seqpos: Tensor | None,
) -> None:
    total, room = bias.q_seqinfo.seqstart_py[-1], bias.k_seqinfo.seqstart_py[-1]
    if xq.ndim not in (4, 5):
        raise ValueError("Unexpected xq dimension")
    if len(xq) != 1:
        raise ValueError("Expected batch size dimension to be 1 as batches should be concatenated.")
    for name, each, length in (("xk", xk, total), ("xv", xv, total), ("cache_k", cache_k, room)):
        expected = (1, length, *xq.shape[2:-2], each.shape[-2], xq.shape[-1])
        if tuple(each.shape) != expected:
            raise ValueError(f"unexpected {name} shape {tuple(each.shape)}: expected {expected}")
    if xq.shape[1] != total or xv.shape != xk.shape or cache_v.shape != cache_k.shape:
        raise ValueError(f"{total} tokens are expected, and values of the shapes of keys")
    if bias.q_seqinfo.seqstart.device != xq.device:
        raise ValueError("`attn_bias` must be on the same device as the other inputs")
    if first_seqpos is not None and seqpos is not None:
        raise ValueError("seqpos and first_seqpos may not both be provided")
    sequences = len(bias.q_seqinfo.seqstart_py) - 1
    for name, given, count in (("first_seqpos", first_seqpos, sequences), ("seqpos", seqpos, total)):
        if given is not None and tuple(given.shape) != (count,):
            raise ValueError(f"{name}.shape {tuple(given.shape)} but ({count},) expected.")


def _places(bias: Any, first_seqpos: Tensor | None, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the place of each token in the cache, and its position in its sequence."""
    places, positions = [], []
    rows = zip(bias.q_seqinfo.intervals(), bias.k_seqinfo.intervals(), strict=True)
    for index, ((first, last), (start, end)) in enumerate(rows):
        own = torch.arange(end - (last - first), end, device=device)
        places.append(own)
        positions.append(own - start if first_seqpos is None else own - start + first_seqpos[index])
    return torch.cat(places), torch.cat(positions)


def _frequencies(
    size: int,
    theta: float,
    scaling: tuple[float, float, float, float] | None,
    device: torch.device,
    dtype: torch.dtype,
) -> Tensor:
    """Return the angle of each pair at position 1."""
    powers = torch.arange(0, size - size % 2, 2, device=device, dtype=dtype) / size
    frequencies = torch.tensor(theta, device=device, dtype=dtype) ** -powers
    if scaling is None:
        return frequencies
    context, factor, low, high = scaling
    lengths = 2 * math.pi / frequencies
    smooth = ((context / lengths - low) / (high - low)).clamp(0, 1)
    return frequencies * ((1 - smooth) / factor + smooth)


def _rotated(x: Tensor, angles: Tensor, adjacents: bool) -> Tensor:
    """Rotate the pairs of ``x``, of shape (tokens, ..., size)."""
    shape = (len(x), *[1] * (x.ndim - 2), -1)
    cos, sin = angles.cos().view(shape), angles.sin().view(shape)
    pairs = x.reshape(*x.shape[:-1], *((-1, 2) if adjacents else (2, -1))).to(angles.dtype)
    axis = -1 if adjacents else -2
    real, imaginary = pairs.unbind(axis)
    turned = torch.stack([real * cos - imaginary * sin, imaginary * cos + real * sin], axis)
    return turned.flatten(-2).to(x.dtype)
