"""Biases of sequences of different lengths that follow each other in one tensor."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from morph.aliases.attention import Part

from .biases import AttentionBias
from .lengths import _SeqLenInfo
from .windows import ALL, CAUSAL, CAUSAL_FROM_START

Packed = TypeVar("Packed", bound="PackedBias")


class PackedBias(AttentionBias):
    """A bias of which each query sees keys of its own sequence only."""

    q_seqinfo: _SeqLenInfo
    k_seqinfo: Any
    window = ALL

    def read(self) -> None:
        """Read the lengths that the device has."""
        self.q_seqinfo.read()
        self.k_seqinfo.read()

    def to(self: Packed, device: torch.device) -> Packed:
        """Return it on ``device``."""
        infos: dict[str, Any] = {name: getattr(self, name).to(device) for name in ("q_seqinfo", "k_seqinfo")}
        return dataclasses.replace(self, **infos)  # type: ignore[type-var]

    def parts(self, queries: int, keys: int) -> list[Part]:
        """Return a part for each sequence.

        Raises:
            ValueError: If there are more or fewer queries or keys.
        """
        for name, given, info in (("queries", queries, self.q_seqinfo), ("keys", keys, self.k_seqinfo)):
            if given != info.seqstart_py[-1]:
                raise ValueError(f"the bias is for {info.seqstart_py[-1]} {name}, not for {given}")
        pairs = zip(self.q_seqinfo.intervals(), self.k_seqinfo.intervals(), strict=True)
        return [self.window.part(slice(*own), slice(*seen)) for own, seen in pairs]


@dataclass
class BlockDiagonalMask(PackedBias):
    """A query sees all keys of its own sequence.

    Attributes:
        q_seqinfo: The lengths of the queries' sequences.
        k_seqinfo: The lengths of the keys' sequences.
        _batch_sizes: How many sequences each tensor had from which it was made.
    """

    q_seqinfo: _SeqLenInfo
    k_seqinfo: _SeqLenInfo
    _batch_sizes: Sequence[int] | None = None

    @classmethod
    def from_seqlens(
        cls: type[Any],
        q_seqlen: Sequence[int],
        kv_seqlen: Sequence[int] | None = None,
        *,
        device: torch.device | None = None,
    ) -> Any:
        """Return the bias of sequences of these lengths; keys have the queries' by default."""
        assert kv_seqlen is None or len(q_seqlen) == len(kv_seqlen)
        queries = _SeqLenInfo.from_seqlens(q_seqlen, device=device)
        if kv_seqlen is None or q_seqlen == kv_seqlen:
            return cls(q_seqinfo=queries, k_seqinfo=queries)
        return cls(q_seqinfo=queries, k_seqinfo=_SeqLenInfo.from_seqlens(kv_seqlen, device=device))

    @classmethod
    def from_tensor_list(cls: type[Any], tensors: Sequence[Tensor]) -> tuple[Any, Tensor]:
        """Return the bias of tensors of shape (batch, length, ...), and one tensor with all their tokens."""
        bias = cls.from_seqlens(_lengths(tensors))
        bias._batch_sizes = [len(each) for each in tensors]
        return bias, _joined(tensors)

    @classmethod
    def from_tensor_lists_qkv(
        cls: type[Any],
        tensors_q: Sequence[Tensor],
        tensors_k: Sequence[Tensor],
        tensors_v: Sequence[Tensor] | None = None,
    ) -> tuple[Any, Tensor, Tensor, Tensor | None]:
        """Return the bias of queries, keys and values, and one tensor for each of these."""
        assert [len(each) for each in tensors_q] == [len(each) for each in tensors_k]
        assert tensors_v is None or [x.shape[:2] for x in tensors_v] == [x.shape[:2] for x in tensors_k]
        bias = cls.from_seqlens(_lengths(tensors_q), _lengths(tensors_k))
        bias._batch_sizes = [len(each) for each in tensors_q]
        values = None if tensors_v is None else _joined(tensors_v)
        return bias, _joined(tensors_q), _joined(tensors_k), values

    def split_queries(self, tensor: Tensor) -> Sequence[Tensor]:
        """Split a tensor of all queries into the tensors that it was made from."""
        return self.q_seqinfo.split(tensor, self._batch_sizes)

    def split_kv(self, tensor: Tensor) -> Sequence[Tensor]:
        """Split a tensor of all keys into the tensors that it was made from."""
        return self.k_seqinfo.split(tensor, self._batch_sizes)

    def split(self, tensor: Tensor) -> Sequence[Tensor]:
        """Split a tensor of all tokens into the tensors that it was made from."""
        assert self.q_seqinfo is self.k_seqinfo
        return self.q_seqinfo.split(tensor, self._batch_sizes)

    def make_causal(self) -> BlockDiagonalCausalMask:
        """Return it with causal sequences, counted from their beginnings."""
        return BlockDiagonalCausalMask(self.q_seqinfo, self.k_seqinfo, self._batch_sizes)

    def make_causal_from_bottomright(self) -> BlockDiagonalCausalFromBottomRightMask:
        """Return it with causal sequences, counted from their ends."""
        return BlockDiagonalCausalFromBottomRightMask(self.q_seqinfo, self.k_seqinfo, self._batch_sizes)

    def make_local_attention(self, window_size: int) -> BlockDiagonalCausalLocalAttentionMask:
        """Return it with at most ``window_size`` keys up to a query, counted from the beginnings."""
        fields = self.q_seqinfo, self.k_seqinfo, self._batch_sizes
        return BlockDiagonalCausalLocalAttentionMask(*fields, _window_size=window_size)

    def make_local_attention_from_bottomright(
        self, window_size: int
    ) -> BlockDiagonalCausalLocalAttentionFromBottomRightMask:
        """Return it with at most ``window_size`` keys up to a query, counted from the ends."""
        fields = self.q_seqinfo, self.k_seqinfo, self._batch_sizes
        return BlockDiagonalCausalLocalAttentionFromBottomRightMask(*fields, _window_size=window_size)


@dataclass
class BlockDiagonalCausalMask(BlockDiagonalMask):
    """A query sees the keys of its own sequence up to its own position, counted from the beginning."""

    window = CAUSAL_FROM_START


@dataclass
class BlockDiagonalCausalFromBottomRightMask(BlockDiagonalMask):
    """A query sees the keys of its own sequence up to its own position, counted from the end."""

    window = CAUSAL

    def __post_init__(self) -> None:
        for index, (queries, keys) in enumerate(_counts(self)):
            if keys < queries:
                message = f"Block #{index} has num_keys={keys} and num_queries={queries}."
                raise ValueError(f"{message} Expected `num_keys >= num_queries`")


@dataclass
class BlockDiagonalCausalLocalAttentionMask(BlockDiagonalCausalMask):
    """Of those keys, a query sees the last ``_window_size``."""

    _window_size: int = 0

    def __post_init__(self) -> None:
        self.window = CAUSAL_FROM_START.of_size(self._window_size)
        for queries, keys in _counts(self):
            if queries - self._window_size >= keys:
                window = f"a window of {self._window_size}"
                raise RuntimeError(f"the last of {queries} queries see none of {keys} keys in {window}")


@dataclass
class BlockDiagonalCausalLocalAttentionFromBottomRightMask(BlockDiagonalCausalFromBottomRightMask):
    """Of those keys, a query sees the last ``_window_size``."""

    _window_size: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.window = CAUSAL.of_size(self._window_size)


def _counts(bias: PackedBias) -> list[tuple[int, int]]:
    pairs = zip(bias.q_seqinfo.intervals(), bias.k_seqinfo.intervals(), strict=True)
    return [(last - first, end - start) for (first, last), (start, end) in pairs]


def _lengths(tensors: Sequence[Tensor]) -> list[int]:
    return [each.shape[1] for each in tensors for _ in range(len(each))]


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([each.reshape([1, -1, *each.shape[2:]]) for each in tensors], dim=1)
