"""Embeddings of tokens and positions, alone or spread over processes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed, nn

from ..utils.distributed import all_reduce, reduce_scatter


class GPT2Embeddings(nn.Module):
    """Embeddings of tokens, and of positions if there are any.

    Args:
        embed_dim: The size of an embedding.
        vocab_size: How many tokens there are.
        max_position_embeddings: How many positions there are; 0 for no embeddings of them.
        padding_idx: The token whose embedding is not learned.
        word_embed_proj_dim: The size of a token's embedding before it is projected; None for no projection.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        embed_dim: int,
        vocab_size: int,
        max_position_embeddings: int,
        padding_idx: int | None = None,
        word_embed_proj_dim: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        own_dim = embed_dim if word_embed_proj_dim is None else word_embed_proj_dim
        self.word_embeddings = nn.Embedding(vocab_size, own_dim, padding_idx=padding_idx, **where)
        projects = word_embed_proj_dim is not None
        self.project_in = nn.Linear(own_dim, embed_dim, bias=False, **where) if projects else None
        self.max_position_embeddings = max_position_embeddings
        if max_position_embeddings > 0:
            self.position_embeddings = nn.Embedding(max_position_embeddings, embed_dim, **where)

    def forward(self, input_ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """Return the embeddings of tokens, of shape (batch, tokens, embed_dim)."""
        embeddings: Tensor = self.word_embeddings(input_ids)
        if self.project_in is not None:
            embeddings = self.project_in(embeddings)
        if self.max_position_embeddings > 0:
            embeddings = embeddings + self.position_embeddings(_positions(input_ids, position_ids))
        return embeddings


class BertEmbeddings(nn.Module):
    """Embeddings of tokens, and of positions and types if there are any.

    Args:
        embed_dim: The size of an embedding.
        vocab_size: How many tokens there are.
        max_position_embeddings: How many positions there are; 0 for no embeddings of them.
        type_vocab_size: How many types there are; 0 for no embeddings of them.
        padding_idx: The token whose embedding is not learned.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        embed_dim: int,
        vocab_size: int,
        max_position_embeddings: int,
        type_vocab_size: int,
        padding_idx: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.word_embeddings = nn.Embedding(vocab_size, embed_dim, padding_idx=padding_idx, **where)
        self.max_position_embeddings, self.type_vocab_size = max_position_embeddings, type_vocab_size
        if max_position_embeddings > 0:
            self.position_embeddings = nn.Embedding(max_position_embeddings, embed_dim, **where)
        if type_vocab_size > 0:
            self.token_type_embeddings = nn.Embedding(type_vocab_size, embed_dim, **where)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the embeddings of tokens, of shape (batch, tokens, embed_dim); without types, all are 0."""
        embeddings: Tensor = self.word_embeddings(input_ids)
        if self.max_position_embeddings > 0:
            embeddings = embeddings + self.position_embeddings(_positions(input_ids, position_ids))
        if self.type_vocab_size > 0:
            types = torch.zeros_like(input_ids[0]) if token_type_ids is None else token_type_ids
            embeddings = embeddings + self.token_type_embeddings(types)
        return embeddings


class VocabParallelEmbedding(nn.Embedding):
    """Embeddings of which each process has some tokens'; those of others are zero.

    Args:
        num_embeddings: How many tokens there are, on all processes.
        *args: As of ``torch.nn.Embedding``.
        process_group: The processes, or None.
        padding_idx: The token whose embedding is not learned; only on one process.
        **kwargs: As of ``torch.nn.Embedding``.
    """

    def __init__(
        self,
        num_embeddings: int,
        *args: Any,
        process_group: Any = None,
        padding_idx: int | None = None,
        **kwargs: Any,
    ) -> None:
        world_size = _parts(process_group, "num_embeddings", num_embeddings)
        if world_size > 1 and padding_idx is not None:
            raise RuntimeError("ParallelEmbedding does not support padding_idx")
        kwargs["padding_idx"] = padding_idx
        super().__init__(num_embeddings // world_size, *args, **kwargs)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        """Return the embeddings of this process's tokens, and zeros for all others."""
        if self.process_group is None:
            return super().forward(input)
        own = input - distributed.get_rank(self.process_group) * self.num_embeddings
        elsewhere = (own < 0) | (own >= self.num_embeddings)
        embeddings = super().forward(own.masked_fill(elsewhere, 0))
        return embeddings.masked_fill(elsewhere[..., None], 0.0)


class ColumnParallelEmbedding(nn.Embedding):
    """Embeddings of which each process has some elements.

    Args:
        num_embeddings: How many there are.
        embedding_dim: The size of each, on all processes.
        *args: As of ``torch.nn.Embedding``.
        process_group: The processes, or None.
        **kwargs: As of ``torch.nn.Embedding``.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *args: Any,
        process_group: Any = None,
        **kwargs: Any,
    ) -> None:
        world_size = _parts(process_group, "embedding_dim", embedding_dim)
        super().__init__(num_embeddings, embedding_dim // world_size, *args, **kwargs)
        self.process_group = process_group


class ParallelGPT2Embeddings(nn.Module):
    """Embeddings of tokens and positions, spread over processes.

    Args:
        embed_dim: The size of an embedding.
        vocab_size: How many tokens there are.
        max_position_embeddings: How many positions there are; 0 for no embeddings of them.
        process_group: The processes.
        padding_idx: The token whose embedding is not learned; only on one process.
        sequence_parallel: Whether each process gets a part of the tokens, and not all.
        device: Of the parameters.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        embed_dim: int,
        vocab_size: int,
        max_position_embeddings: int,
        process_group: Any,
        padding_idx: int | None = None,
        sequence_parallel: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.process_group, self.sequence_parallel = process_group, sequence_parallel
        where: dict[str, Any] = {"process_group": process_group, "device": device, "dtype": dtype}
        self.word_embeddings = VocabParallelEmbedding(vocab_size, embed_dim, padding_idx=padding_idx, **where)
        self.max_position_embeddings = max_position_embeddings
        if max_position_embeddings > 0:
            self.position_embeddings = ColumnParallelEmbedding(max_position_embeddings, embed_dim, **where)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, combine_batch_seqlen_dim: bool = False
    ) -> Tensor:
        """Return the embeddings of tokens.

        Args:
            input_ids: Of shape (batch, tokens).
            position_ids: Of the same shape; None to count from 0.
            combine_batch_seqlen_dim: Whether the result has the shape (batch x tokens, embed_dim).
        """
        embeddings: Tensor = self.word_embeddings(input_ids)
        if self.max_position_embeddings > 0:
            own = self.position_embeddings(_positions(input_ids, position_ids))
            first = distributed.get_rank(self.process_group) * own.shape[-1]
            rest = embeddings.shape[-1] - first - own.shape[-1]
            embeddings = embeddings + nn.functional.pad(own, (first, rest))
        if combine_batch_seqlen_dim:
            embeddings = embeddings.flatten(0, 1)
        if distributed.get_world_size(self.process_group) <= 1:
            return embeddings
        reduce = reduce_scatter if self.sequence_parallel else all_reduce
        return reduce(embeddings, self.process_group)  # type: ignore[no-any-return, no-untyped-call]


def _positions(input_ids: Tensor, position_ids: Tensor | None) -> Tensor:
    if position_ids is not None:
        return position_ids
    return torch.arange(input_ids.shape[1], device=input_ids.device)


def _parts(process_group: Any, name: str, size: int) -> int:
    world_size = 1 if process_group is None else distributed.get_world_size(process_group)
    if size % world_size:
        raise ValueError(f"{name} ({size}) must be divisible by world_size ({world_size})")
    return world_size
