"""Rotary position embedding of queries, keys, or both in one tensor."""

from __future__ import annotations

import torch
from torch import Tensor

from .._morph.original import initializer, recorded
from ..ops.triton.rotary import apply_rotary  # noqa: F401 (part of the interface)
from .rotation import Rotation

_of_rotary, _initializer = recorded(__name__), initializer(__name__)


@_of_rotary
def apply_rotary_emb(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool,
    inplace: bool,
    seqlen_offsets: int | Tensor,
    cu_seqlens: Tensor | None,
    max_seqlen: int | None,
) -> Tensor:
    """Rotate the first ``2 * cos.shape[1]`` elements of each head, and return the tensor, or a new one.

    ``x`` is of shape (batch, tokens, heads, head size), with ``cu_seqlens`` (all tokens, heads, head size).
    """
    arguments = seqlen_offsets, interleaved, inplace, None, cu_seqlens, max_seqlen
    return Rotation.apply(x, "x", cos, sin, None, None, *arguments)  # type: ignore[no-untyped-call, no-any-return]


apply_rotary_emb_func = apply_rotary_emb


@_of_rotary
def apply_rotary_emb_qkv_(
    qkv: Tensor,
    interleaved: bool,
    seqlen_offsets: int | Tensor,
    num_heads_q: int | None,
    **tables: Tensor | None,
) -> Tensor:
    """Rotate queries and keys in place, and return ``qkv``; see :func:`apply_rotary_emb`.

    ``qkv`` is of shape (batch, tokens, 3, heads, head size), or (batch, tokens, heads + 2 x key heads, head
    size) with ``num_heads_q`` heads of queries; ``cos_k`` and ``sin_k`` are those of the keys, where they
    differ.
    """
    given = (tables[name] for name in ("cos", "sin", "cos_k", "sin_k"))
    return Rotation.apply(qkv, "qkv", *given, seqlen_offsets, interleaved, True, num_heads_q)  # type: ignore[no-untyped-call, no-any-return]


@_of_rotary
def apply_rotary_emb_kv_(
    kv: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, seqlen_offsets: int | Tensor
) -> Tensor:
    """Rotate keys in ``kv``, of shape (batch, tokens, 2, heads, head size), in place, and return ``kv``."""
    return Rotation.apply(kv, "kv", cos, sin, None, None, seqlen_offsets, interleaved, True)  # type: ignore[no-untyped-call, no-any-return]


class RotaryEmbedding(torch.nn.Module):
    """Rotary position embedding (https://arxiv.org/abs/2104.09864), with XPos
    (https://arxiv.org/abs/2212.10554).

    Args:
        dim: How many elements of each head are rotated.
        base: The largest wavelength, in units of 2 pi tokens.
        interleaved: Whether neighbours are rotated with each other, or one half with the other.
        scale_base: The number of tokens over which XPos decays; None for no XPos.
        device: The device of the frequencies.
    """

    inv_freq: Tensor
    scale: Tensor | None

    @_initializer
    def __init__(
        self, dim: int, base: float, interleaved: bool, scale_base: float | None, device: torch.device | None
    ) -> None:
        super().__init__()
        self.dim = dim
        self.base = float(base)
        self.interleaved = interleaved
        self.scale_base = scale_base
        even = torch.arange(0, dim, 2, device=device, dtype=torch.float32)
        self.register_buffer("inv_freq", self._compute_inv_freq(device), persistent=False)
        scale = None if scale_base is None else (even + 0.4 * dim) / (1.4 * dim)
        self.register_buffer("scale", scale, persistent=False)
        self._seq_len_cached = 0
        self._cos_cached: Tensor | None = None
        self._sin_cached: Tensor | None = None
        self._cos_k_cached: Tensor | None = None
        self._sin_k_cached: Tensor | None = None

    def forward(
        self,
        qkv: Tensor,
        kv: Tensor | None = None,
        seqlen_offset: int | Tensor = 0,
        max_seqlen: int | None = None,
        num_heads_q: int | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Rotate queries and keys in place.

        Args:
            qkv: Of shape (batch, tokens, 3, heads, head size), or (batch, tokens, heads + 2 x key heads,
                head size); with ``kv``, the queries alone.
            kv: Keys and values, of shape (batch, tokens, 2, heads, head size).
            seqlen_offset: The position of the first token; as a tensor of shape (batch,), of each sequence.
            max_seqlen: The largest number of positions, which should be passed if the offsets are a tensor.
            num_heads_q: The number of query heads, which the second shape requires.

        Returns:
            ``qkv``; with ``kv``, both.
        """
        seqlen = qkv.shape[1] + seqlen_offset if isinstance(seqlen_offset, int) else None
        seqlen = seqlen if max_seqlen is None else max_seqlen
        if seqlen is not None:
            self._update_cos_sin_cache(seqlen, device=qkv.device, dtype=qkv.dtype)
        cos, sin, cos_k, sin_k = self._cos_cached, self._sin_cached, self._cos_k_cached, self._sin_k_cached
        assert cos is not None
        assert sin is not None
        options = self.interleaved, seqlen_offset
        if kv is None:
            return apply_rotary_emb_qkv_(qkv, cos, sin, cos_k, sin_k, *options, num_heads_q)  # type: ignore[no-any-return]
        queries = apply_rotary_emb(qkv, cos, sin, self.interleaved, True, seqlen_offset)
        return queries, apply_rotary_emb_kv_(
            kv, cos if cos_k is None else cos_k, sin if sin_k is None else sin_k, *options
        )

    def _compute_inv_freq(self, device: torch.device | str | None = None) -> Tensor:
        exponents = torch.arange(0, self.dim, 2, device=device, dtype=torch.float32) / self.dim
        return 1.0 / self.base**exponents

    def _update_cos_sin_cache(
        self, seqlen: int, device: torch.device | None = None, dtype: torch.dtype | None = None
    ) -> None:
        cos = self._cos_cached
        enough = (
            cos is not None and seqlen <= self._seq_len_cached and (cos.device, cos.dtype) == (device, dtype)
        )
        if enough and not (self.training and cos is not None and _is_inference(cos)):
            return
        self._seq_len_cached = seqlen
        # in float32 for every dtype of the model: positions are large
        kept = self.inv_freq if self.inv_freq.dtype == torch.float32 else self._compute_inv_freq(device)
        angles = torch.outer(torch.arange(seqlen, device=device, dtype=torch.float32), kept.to(device))
        cos, sin = angles.cos(), angles.sin()
        if self.scale is not None:
            assert self.scale_base is not None
            power = (
                torch.arange(seqlen, device=device, dtype=self.scale.dtype) - seqlen // 2
            ) / self.scale_base
            scale = self.scale.to(device) ** power[:, None]
            self._cos_k_cached, self._sin_k_cached = (cos / scale).to(dtype), (sin / scale).to(dtype)
            cos, sin = cos * scale, sin * scale
        self._cos_cached, self._sin_cached = cos.to(dtype), sin.to(dtype)


def _is_inference(tensor: Tensor) -> bool:
    """Return whether autograd rejects the tensor; a compiler creates none, and cannot trace the check."""
    return not torch.compiler.is_compiling() and tensor.is_inference()
