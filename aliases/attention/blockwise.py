"""Attention in plain PyTorch, on any device: in float32, tile by tile, in memory linear in the lengths."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from .options import Attention, Gradients, Saved, Tile

_ELEMENTS = 1 << 22  # of a tile of all heads
KEYS = 512  # of a tile
LEAST = torch.finfo(torch.float32).min


def forward(attention: Attention, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Compute attention; see :func:`morph.aliases.attention.kernels.forward`."""
    scores = Scores(attention, query, key)
    out = query.new_zeros(*query.shape[:3], value.shape[3])
    lse = query.new_full(scores.shape, math.inf, dtype=torch.float32)
    for row in scores.rows():
        softmax = _Softmax(scores.queries(row), value.shape[3])
        for tile in row.columns(KEYS):
            softmax.add(scores.of(tile)[0], _by_head(value, tile), scores.kept(tile))
        out[:, row.first : row.last] = scores.ungrouped(softmax.output(), row)
        lse[:, :, row.first : row.last] = softmax.logarithm().view(*scores.shape[:2], -1)
    return out, lse


def backward(
    attention: Attention, saved: Saved, lse_grad: Tensor | None = None, matrix_grad: Tensor | None = None
) -> Gradients:
    """Compute the gradients in float32; see :func:`morph.aliases.attention.kernels.backward`.

    ``matrix_grad``, of shape (batch, heads, queries, keys), receives the gradient of the scores.
    """
    grad, query, key, value, out, lse = saved
    scores = Scores(attention, query, key)
    query_grad, key_grad, value_grad = (torch.zeros_like(x, dtype=torch.float32) for x in (query, key, value))
    for row in scores.rows():
        row_grad = scores.grouped(grad, row)
        delta = (row_grad * scores.grouped(out, row)).sum(-1, keepdim=True)
        row_lse = lse[:, :, row.first : row.last].reshape(delta.shape)
        if lse_grad is not None:
            delta -= lse_grad[:, :, row.first : row.last].reshape(delta.shape)
        for tile in row.columns(KEYS):
            tile_scores, slope = scores.of(tile)
            weights, kept = (tile_scores - row_lse).exp_(), scores.kept(tile)
            kept_weights = weights if kept is None else weights * kept
            _add(value_grad, tile, kept_weights.mT @ row_grad)
            weight_grad = row_grad @ _by_head(value, tile).mT
            if kept is not None:
                weight_grad *= kept
            score_grad = weights.mul_(weight_grad - delta)
            if matrix_grad is not None:
                by_head = score_grad.view(*scores.shape[:2], tile.last - tile.first, -1)
                matrix_grad[:, :, tile.first : tile.last, tile.start : tile.end] = by_head
            if slope is not None:
                score_grad *= slope
            _add(key_grad, tile, score_grad.mT @ scores.queries(row))
            row_part = score_grad @ _by_head(key, tile) * attention.scale
            query_grad[:, row.first : row.last] += scores.ungrouped(row_part, row)
    return query_grad, key_grad, value_grad


class Scores:
    """The scores of a call in tiles; queries of all heads that share a key head are rows of one matrix."""

    def __init__(self, attention: Attention, query: Tensor, key: Tensor) -> None:
        self._attention = attention
        self._query = query
        self._key = key
        self._queries: tuple[Tile, Tensor] | None = None
        self.shape = query.shape[0], query.shape[2], query.shape[1]

    def rows(self) -> Iterator[Tile]:
        """Split the scores into tiles with all keys, and few enough queries for bounded memory."""
        batch, heads, queries = self.shape
        size = min(1024, max(16, _ELEMENTS // (batch * heads * KEYS)))
        return self._attention.rows(queries, self._key.shape[1], size)

    def queries(self, row: Tile) -> Tensor:
        """Return the scaled queries of ``row``: float32, (batch, key heads, group x queries, head size)."""
        if self._queries is None or (self._queries[0].first != row.first):
            self._queries = row, self.grouped(self._query, row) * self._attention.scale
        return self._queries[1]

    def of(self, tile: Tile) -> tuple[Tensor, Tensor | None]:
        """Return the scores of ``tile``, and the factor of the gradients from a softcap, if there is one."""
        scores, slope = self.queries(tile) @ _by_head(self._key, tile).mT, None
        if self._attention.softcap > 0:
            squeezed = (scores / self._attention.softcap).tanh_()
            scores, slope = squeezed * self._attention.softcap, 1 - squeezed.square()
        by_head = scores.view(*self.shape[:2], tile.last - tile.first, -1)
        bias = self._attention.bias(tile)
        if bias is not None:
            by_head += bias
        hidden = self._attention.hidden(tile, scores.device)
        if hidden is not None:
            by_head.masked_fill_(hidden, -math.inf)
        return scores, slope

    def kept(self, tile: Tile) -> Tensor | None:
        """Return the factors of dropout for the weights of ``tile``; every call returns the same."""
        dropout = self._attention.dropout
        if dropout == 0:
            return None
        generator = torch.Generator(self._query.device)
        generator.manual_seed(hash((self._attention.seed, tile.first, tile.start)) & (1 << 62) - 1)
        shape = *self.queries(tile).shape[:3], tile.end - tile.start
        kept = torch.empty(shape, device=self._query.device)
        return kept.bernoulli_(1 - dropout, generator=generator).div_(1 - dropout)

    def grouped(self, tensor: Tensor, row: Tile) -> Tensor:
        """Return the queries of ``row`` in ``tensor``, those that share a key head next to each other."""
        part = tensor[:, row.first : row.last]
        by_key_head = part.reshape(*part.shape[:2], self._key.shape[2], -1, part.shape[3])
        return by_key_head.permute(0, 2, 3, 1, 4).flatten(2, 3).float()

    def ungrouped(self, grouped: Tensor, row: Tile) -> Tensor:
        """Undo :meth:`grouped`: return a tensor of shape (batch, queries, heads, size)."""
        by_head = grouped.reshape(*self.shape[:2], row.last - row.first, -1)
        return by_head.transpose(1, 2)


class _Softmax:
    """The sum of the values weighted by a softmax, over the tiles added so far (an online softmax)."""

    def __init__(self, queries: Tensor, size: int) -> None:
        self._largest = queries.new_full((*queries.shape[:3], 1), -math.inf)
        self._total = torch.zeros_like(self._largest)
        self._weighted = queries.new_zeros(*queries.shape[:3], size)

    def add(self, scores: Tensor, value: Tensor, kept: Tensor | None) -> None:
        largest = torch.maximum(self._largest, scores.amax(-1, keepdim=True)).clamp_min_(LEAST)
        weights = scores.sub_(largest).exp_()
        shrunk = (self._largest - largest).exp_()
        self._total = self._total * shrunk + weights.sum(-1, keepdim=True)
        if kept is not None:
            weights *= kept
        self._weighted = self._weighted * shrunk + weights @ value
        self._largest = largest

    def output(self) -> Tensor:
        return self._weighted / self._total.masked_fill(self._total == 0, 1.0)

    def logarithm(self) -> Tensor:
        """Return the logarithm of the sum; infinity where a bias hides all keys, as where there is none."""
        return (self._largest + self._total.log()).masked_fill_(self._total == 0, math.inf)


def _by_head(tensor: Tensor, tile: Tile) -> Tensor:
    return tensor[:, tile.start : tile.end].transpose(1, 2).float()


def _add(total: Tensor, tile: Tile, part: Tensor) -> None:
    total[:, tile.start : tile.end] += part.transpose(1, 2)
