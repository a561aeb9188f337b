"""The arguments of a call of flash_attn 3, and its computation, sequence by sequence where necessary."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from morph.aliases import attention as kernels
from morph.aliases.attention import Attention, Packing
from morph.aliases.attention.packed import Range

from ...ops.triton.rotary import apply_rotary
from ..cache import Cache
from ..checks import require, require_device

_FP8 = torch.float8_e4m3fn
_DTYPES = torch.float16, torch.bfloat16, _FP8


@dataclass
class Request:
    """Queries, keys and values, and which of them belong together.

    Attributes:
        query: Of shape (batch, queries, heads, head size), or (all queries, heads, head size) with
            ``query_ends``.
        key: Of shape (batch, keys, key heads, head size), (all keys, ...) with ``key_ends``, or pages.
        value: Of the shape of ``key`` except for the last dimension.
        query_ends: int32 of shape (batch + 1,): where the queries of each sequence begin, and the last ones
            end.
        key_ends: Likewise for the keys.
        queries_used: int32 of shape (batch,): how many queries of each sequence are used; None for all.
        keys_used: Likewise for the keys.
        table: int32 of shape (batch, most pages of a sequence), if the keys are in pages.
        rows: int32 of shape (batch,): which of the cached sequences each is.
        leftpad: int32 of shape (batch,): where the keys of each sequence begin.
        query_value: Queries whose products with the values are added to the scores, of the shape of
            ``query`` except for the last dimension.
        scales: float32 of shape (batch, key heads): the factors of 8-bit queries, keys and values.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    query_ends: Tensor | None = None
    key_ends: Tensor | None = None
    queries_used: Tensor | None = None
    keys_used: Tensor | None = None
    table: Tensor | None = None
    rows: Tensor | None = None
    leftpad: Tensor | None = None
    query_value: Tensor | None = None
    scales: tuple[Tensor | None, Tensor | None, Tensor | None] = (None, None, None)

    @property
    def batch_size(self) -> int:
        """The number of sequences."""
        return self.query.shape[0] if self.query_ends is None else len(self.query_ends) - 1

    @property
    def cache(self) -> Cache:
        """The keys and values as a cache."""
        return Cache(self.key, self.value, self.keys_used, self.rows, self.leftpad, self.table)

    @property
    def dtype(self) -> torch.dtype:
        """The output's dtype."""
        return torch.bfloat16 if self.query.dtype == _FP8 else self.query.dtype

    def require(self) -> None:
        """Reject arguments that flash_attn does not accept."""
        q, k, v = self.query, self.key, self.value
        require(q.dtype in _DTYPES, "FlashAttention only supports fp16, bf16, and fp8_e4m3 data type")
        require(k.dtype == q.dtype, "query and key must have the same dtype")
        require(v.dtype == q.dtype, "query and value must have the same dtype")
        require_device(q=q, k=k, v=v)
        require_device(**dict(zip(("q_descale", "k_descale", "v_descale"), self.scales, strict=True)))
        for each in (q, k):
            require(each.stride(-1) == 1, "Input tensor must have contiguous last dimension")
        sizes = max(q.shape[-1], v.shape[-1])
        require(q.shape[-1] <= 256, "FlashAttention forward only supports head dimension at most 256")
        require(sizes <= 512, "FlashAttention forward only supports head dimension at most 512")
        divides = k.shape[-2] > 0 and q.shape[-2] % k.shape[-2] == 0
        require(divides, "Number of heads in key/value must divide number of heads in query")
        require(q.shape[-1] % 8 == 0, "head_size should be a multiple of 8")
        require(v.shape[-1] % 8 == 0, "head_size_v should be a multiple of 8")
        for name, ends in {"cu_seqlens_q": self.query_ends, "cu_seqlens_k": self.key_ends}.items():
            require(ends is None or ends.dtype == torch.int32, f"{name} must have dtype torch.int32")
        no_table = "If cu_seqlens_k is passed in, then page table is not supported"
        require(self.key_ends is None or self.table is None, no_table)

    def attend(self, attention: Attention) -> tuple[Tensor, Tensor]:
        """Compute the output and the logarithm of the softmax's sums, which is infinity for no keys."""
        if not self._is_plain:
            return self._attend_by_sequence(attention)
        if self.query_ends is None:
            return kernels.forward(attention, self.query, self.key, self.value)
        return kernels.forward_packed(attention, self.query, self.key, self.value, self.packing)

    def differentiate(
        self, attention: Attention, grad: Tensor, out: Tensor, lse: Tensor, lse_grad: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the gradients of queries, keys and values from those of the output and of the sums."""
        tensors = grad, self.query, self.key, self.value, out
        if self._is_plain and self.query_ends is None:
            return kernels.backward(attention, *tensors, lse, lse_grad)
        if self.query_ends is None:
            lse = lse.transpose(0, 1).flatten(1)
            lse_grad = None if lse_grad is None else lse_grad.transpose(0, 1).flatten(1)
        grad, query, key, value, out = (x.flatten(0, 1) if x.dim() == 4 else x for x in tensors)
        rows = grad, query, key, value, out
        grads = kernels.backward_packed(attention, *rows, lse, self.packing, lse_grad)
        inputs = self.query, self.key, self.value
        return tuple(each.view(like.shape) for each, like in zip(grads, inputs, strict=True))  # type: ignore[return-value]

    @property
    def packing(self) -> Packing:
        """The ranges of the sequences in queries, keys and values without a batch dimension."""
        keys = _ranges(self.key, self.key_ends, self.keys_used)
        return Packing(_ranges(self.query, self.query_ends, self.queries_used), keys)

    @property
    def _is_plain(self) -> bool:
        """Whether all queries and keys are used, without pages, left padding, ``qv`` or 8-bit inputs."""
        used = self.queries_used, self.keys_used, self.table, self.rows, self.leftpad, self.query_value
        same = (self.query_ends is None) == (self.key_ends is None)
        return same and self.query.dtype != _FP8 and all(each is None for each in used)

    def _attend_by_sequence(self, attention: Attention) -> tuple[Tensor, Tensor]:
        rows = self.query if self.query_ends is not None else self.query.flatten(0, 1)
        extra = self.query_value
        if extra is not None and self.query_ends is None:
            extra = extra.flatten(0, 1)
        out = rows.new_zeros(*rows.shape[:2], self.value.shape[-1], dtype=self.dtype)
        lse = rows.new_full((rows.shape[1], rows.shape[0]), math.inf, dtype=torch.float32)
        for index, (start, end) in enumerate(_ranges(self.query, self.query_ends, self.queries_used)):
            own = slice(start, end)
            inputs = self._sequence(index, rows[own], None if extra is None else extra[own])
            part, sums = kernels.forward(attention.of_sequence(index), *inputs)
            out[own], lse[:, own] = part[0], sums[0]
        if self.query_ends is not None:
            return out, lse
        shape = self.query.shape[:2]
        return out.view(*shape, *out.shape[1:]), lse.view(-1, *shape).transpose(0, 1).contiguous()

    def _sequence(
        self, index: int, query: Tensor, query_value: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the inputs of one sequence, each of shape (1, tokens, heads, size)."""
        key, value = self._keys(index)
        query = query[None]
        if query.dtype == _FP8:
            group = query.shape[2] // key.shape[2]
            query, key, value = (
                _scaled(each, scale, index, repeat)
                for each, scale, repeat in zip((query, key, value), self.scales, (group, 1, 1), strict=True)
            )
        if query_value is not None:
            query, key = torch.cat([query, query_value[None]], -1), torch.cat([key, value], -1)
        return query, key, value

    def _keys(self, index: int) -> tuple[Tensor, Tensor]:
        if self.key_ends is not None:
            start, end = _ranges(self.key, self.key_ends, self.keys_used)[index]
            return self.key[None, start:end], self.value[None, start:end]
        cache = self.cache
        end = cache.capacity if self.keys_used is None else int(self.keys_used[index])
        return cache.sequence(index, 0 if self.leftpad is None else int(self.leftpad[index]), end)


def rotated(
    request: Request,
    key: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor,
    interleaved: bool,
    masked: bool,
) -> tuple[Tensor, Tensor]:
    """Return queries and new keys at their positions, without a mask all queries at the first new one."""
    key = apply_rotary(key, cos, sin, positions, interleaved=interleaved)
    parts = []
    rows = request.query if request.query_ends is not None else request.query.flatten(0, 1)
    for index, (start, end) in enumerate(_ranges(request.query, request.query_ends, None)):
        own = rows[None, start:end] if masked else rows[start:end].flatten(0, 1)[None, None]
        turned = apply_rotary(own, cos, sin, positions[index : index + 1], interleaved=interleaved)
        parts.append(turned.view(end - start, *rows.shape[1:]))
    return torch.cat(parts).view(request.query.shape), key


def _ranges(tensor: Tensor, ends: Tensor | None, used: Tensor | None) -> list[Range]:
    """Return the range of each sequence in ``tensor`` without a batch dimension."""
    if ends is None:
        batch_size, length = tensor.shape[:2]
        ranges = [(index * length, (index + 1) * length) for index in range(batch_size)]
    else:
        ranges = list(itertools.pairwise(ends.tolist()))
    if used is None:
        return ranges
    return [(start, start + count) for (start, _), count in zip(ranges, used.tolist(), strict=True)]


def _scaled(tensor: Tensor, scale: Tensor | None, index: int, repeat: int) -> Tensor:
    wide = tensor.float()
    return wide if scale is None else wide * scale[index].repeat_interleave(repeat)[:, None]
