"""One call of attention, with every option that any package has, and its computation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from . import cache, kernels, places
from .options import Attention
from .places import WHOLE, Part
from .weights import weights

FLOAT8 = torch.float8_e4m3fn

Gradients = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Request:
    """Queries, keys, values and options of one call.

    Attributes:
        query: Of shape (batch, queries, heads, head size), or (all queries, heads, head size) with
            ``query_ends``.
        key: Of shape (batch, keys, key heads, head size), (all keys, ...) with ``key_ends``, or with a
            ``table`` (pages, tokens of a page, ...); the key heads divide the heads.
        value: Of the shape of ``key`` except for the last dimension.
        scale: The factor of the query-key products; None for 1 / sqrt(head size).
        causal: Whether a query sees no key after its own position; queries and keys end at the same one.
        left: How many keys before its own position a query sees; negative for all.
        right: How many keys after its own position a query sees; negative for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        alibi_slopes: float32, of shape (heads,) or (batch, heads); see :class:`.Attention`.
        dropout: The probability that a weight is dropped.
        seed: Determines which weights are dropped.
        chunk: Queries only see keys in their own chunk of this many positions, unless it is 0.
        matrix: Added to the scores: of shape (batch or 1, heads or 1, queries, keys).
        sink: Of shape (heads,): the score of one more key of each head, whose value is 0.
        query_value: Queries whose products with the values are added to the scores, of the shape of
            ``query`` except for the last dimension.
        query_scale: float32 of shape (batch, key heads): the factor of 8-bit queries.
        key_scale: Likewise for the keys.
        value_scale: Likewise for the values.
        query_ends: int32 of shape (batch + 1,): where the queries of each sequence begin, and the last ones
            end.
        key_ends: Likewise for the keys.
        max_queries: The largest number of queries in a sequence, if it is known.
        max_keys: Likewise for the keys.
        queries_used: int32 of shape (batch,): how many queries of each sequence are used; None for all.
        keys_used: Likewise for the keys.
        leftpad: int32 of shape (batch,): where the keys of each sequence begin; None for 0.
        rows: int32 of shape (batch,): which row of ``key`` each sequence has; None for its own.
        table: int32 of shape (batch, most pages of a sequence): the pages of each sequence, in order.
        new_key: Keys that are written behind those counted by ``keys_used`` first, of shape (batch, new
            keys, key heads, head size).
        new_value: Likewise for the values.
        cos: Cosines of shape (positions, rotary size / 2), by which queries and new keys are rotated.
        sin: Sines of the same shape.
        first_positions: int32 of shape (batch,): the position of the first new key; None for ``keys_used``.
        interleaved: Whether neighbours are rotated with each other, or one half with the other.
        given: The parts of the scores, if they do not follow from the other options.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    scale: float | None = None
    causal: bool = False
    left: int = -1
    right: int = -1
    softcap: float = 0.0
    alibi_slopes: Tensor | None = None
    dropout: float = 0.0
    seed: int = 0
    chunk: int = 0
    matrix: Tensor | None = None
    sink: Tensor | None = None
    query_value: Tensor | None = None
    query_scale: Tensor | None = None
    key_scale: Tensor | None = None
    value_scale: Tensor | None = None
    query_ends: Tensor | None = None
    key_ends: Tensor | None = None
    max_queries: int | None = None
    max_keys: int | None = None
    queries_used: Tensor | None = None
    keys_used: Tensor | None = None
    leftpad: Tensor | None = None
    rows: Tensor | None = None
    table: Tensor | None = None
    new_key: Tensor | None = None
    new_value: Tensor | None = None
    cos: Tensor | None = None
    sin: Tensor | None = None
    first_positions: Tensor | None = None
    interleaved: bool = True
    given: Sequence[Part] | None = None

    @property
    def batch_size(self) -> int:
        """The number of sequences."""
        return self.query.shape[0] if self.query_ends is None else len(self.query_ends) - 1

    @property
    def capacity(self) -> int:
        """The largest number of keys that a sequence has room for."""
        if self.key_ends is not None:
            return self.key.shape[0]
        return self.key.shape[1] * (1 if self.table is None else self.table.shape[1])

    @property
    def longest(self) -> tuple[int, int]:
        """The largest numbers of queries and of keys in a sequence, or more."""
        queries = self.query.shape[0 if self.query_ends is not None else 1]
        return (
            queries if self.max_queries is None else self.max_queries,
            self.capacity if self.max_keys is None else self.max_keys,
        )

    @property
    def attention(self) -> Attention:
        """The options for the kernels."""
        queries, keys = self.longest
        left = -1 if self.left >= keys else self.left
        right = 0 if self.causal else -1 if self.right >= queries else self.right
        options = self.softcap, self.alibi_slopes, self.dropout, self.seed, self.chunk, self.matrix
        return Attention(self.default_scale if self.scale is None else self.scale, left, right, *options)

    @property
    def default_scale(self) -> float:
        """The factor of the scores, unless another one is given."""
        size: int = self.query.shape[-1] + (0 if self.query_value is None else self.query_value.shape[-1])
        return size**-0.5  # type: ignore[no-any-return]

    def appended(self) -> Request:
        """Write the new keys and values, rotated if there are angles, and return the request without them."""
        return cache.appended(self)

    def forward(self) -> tuple[Tensor, Tensor]:
        """Compute attention.

        Returns:
            The output, of the shape of ``query`` with the size of ``value``; and the logarithm of the
            softmax's sums, float32 of shape (batch, heads, queries) or (heads, all queries). A query that
            sees no key, or is in no sequence, has 0 and infinity; with a ``sink``, 0 and the sink.
        """
        with kernels.full_precision(self.query):
            out, lse = self._forward_at_once() or self._forward_by_parts()
            return (out, lse) if self.sink is None else _with_sink(out, lse, self.sink)

    def backward(
        self,
        grad: Tensor,
        out: Tensor,
        lse: Tensor,
        lse_grad: Tensor | None = None,
        matrix_grad: Tensor | None = None,
    ) -> Gradients:
        """Compute the gradients of query, key and value.

        Args:
            grad: The gradient of the output.
            out: The output of ``forward``, or of an attention of which these keys are a part.
            lse: Its other result, likewise.
            lse_grad: The gradient of ``lse``.
            matrix_grad: Zeros of the shape of ``matrix``, which receive its gradient.

        Returns:
            The gradients, in the dtype of the inputs or float32.
        """
        with kernels.full_precision(self.query):
            grads = None if lse_grad is not None else self._backward_at_once(grad, out, lse)
            return grads or self._backward_by_parts(grad, out, lse, lse_grad, matrix_grad)

    def sink_gradient(self, grad: Tensor, out: Tensor, lse: Tensor, lse_grad: Tensor | None) -> Tensor:
        """Return the gradient of ``sink``; see :meth:`backward`."""
        assert self.sink is not None
        slope = -(grad.float() * out.float()).sum(-1).transpose(-1, -2)
        if lse_grad is not None:
            slope = slope + lse_grad
        heads = ((self.sink.float()[:, None] - lse).exp() * slope).sum(-1)
        return (heads if heads.dim() == 1 else heads.sum(0)).to(self.sink.dtype)

    def weigh(self, out: Tensor) -> None:
        """Compute the weights of the softmax as flash_attn leaves them; see :func:`.weights.weights`.

        Args:
            out: Zeros of shape (batch, heads, queries or more, keys padded to a multiple of 128).
        """
        for part in self._parts():
            query, key, _ = self._inputs(part)
            weights(part.attention, query, key, out if part.index < 0 else out[part.index][None])

    def _parts(self) -> Sequence[Part]:
        return places.parts(self) if self.given is None else self.given

    def _inputs(self, part: Part) -> Gradients:
        """Return the queries, keys and values of a part, each of shape (sequences, tokens, heads, size)."""
        query = _batched(self.query)[part.queries]
        key, value = (places.selected(_batched(each), part.keys) for each in (self.key, self.value))
        if query.dtype == FLOAT8:
            query, key, value = self._scaled(part.index, query, key, value)
        if self.query_value is not None:
            query = torch.cat([query, _batched(self.query_value)[part.queries]], -1)
            key = torch.cat([key, value], -1)
        return query, key, value

    def _scaled(self, index: int, query: Tensor, *others: Tensor) -> list[Tensor]:
        """Return 8-bit inputs of a sequence in float32, multiplied by their factors."""
        group = query.shape[2] // others[0].shape[2]
        scales = self.query_scale, self.key_scale, self.value_scale
        pairs = zip((query, *others), scales, (group, 1, 1), strict=True)
        return [
            each.float() if scale is None else each.float() * scale[index].repeat_interleave(heads)[:, None]
            for each, scale, heads in pairs
        ]

    def _forward_by_parts(self) -> tuple[Tensor, Tensor]:
        query, parts = _batched(self.query), self._parts()
        if len(parts) == 1 and _covers(parts[0], query):
            out, lse = kernels.forward(parts[0].attention, *self._inputs(parts[0]))
        else:
            batch, queries, heads, _ = query.shape
            dtype = torch.bfloat16 if query.dtype == FLOAT8 else query.dtype
            out = query.new_zeros(batch, queries, heads, self.value.shape[-1], dtype=dtype)
            lse = query.new_full((batch, heads, queries), math.inf, dtype=torch.float32)
            for part in parts:
                (rows, tokens), inputs = part.queries, self._inputs(part)
                out[rows, tokens], lse[rows, :, tokens] = kernels.forward(part.attention, *inputs)
        return (out, lse) if self.query_ends is None else (out[0], lse[0])

    def _backward_by_parts(
        self, grad: Tensor, out: Tensor, lse: Tensor, lse_grad: Tensor | None, matrix_grad: Tensor | None
    ) -> Gradients:
        tensors, parts = tuple(map(_batched, (self.query, self.key, self.value))), self._parts()
        grad, out = _batched(grad), _batched(out)
        lse, lse_grad = (x if x is None or x.dim() == 3 else x[None] for x in (lse, lse_grad))
        assert lse is not None
        if len(parts) == 1 and parts[0].is_whole:
            inputs = grad, *tensors, out, lse, lse_grad, matrix_grad
            grads = kernels.backward(parts[0].attention, *inputs)
        else:
            dtype = None if self.given is None else torch.float32  # parts may share keys
            grads = torch.zeros_like(tensors[0]), *(torch.zeros_like(x, dtype=dtype) for x in tensors[1:])
            for part in parts:
                rows, tokens = part.queries
                own = (None if x is None else x[rows, :, tokens] for x in (lse, lse_grad))
                of_matrix = None if matrix_grad is None else matrix_grad[:, :, tokens, part.keys[1]]
                inputs = grad[rows, tokens], *self._inputs(part), out[rows, tokens], *own, of_matrix
                results = kernels.backward(part.attention, *inputs)
                grads[0][rows, tokens] = results[0]
                for total, result in zip(grads[1:], results[1:], strict=True):
                    places.add(total, part.keys, result)
        likes = self.query, self.key, self.value
        return tuple(each.view(like.shape) for each, like in zip(grads, likes, strict=True))  # type: ignore[return-value]

    def _forward_at_once(self) -> tuple[Tensor, Tensor] | None:
        lengths = self._lengths_at_once()
        inputs = self.query, self.key, self.value
        return None if lengths is None else kernels.forward_packed(self.attention, *inputs, lengths)

    def _backward_at_once(self, grad: Tensor, out: Tensor, lse: Tensor) -> Gradients | None:
        lengths = self._lengths_at_once()
        inputs = grad, self.query, self.key, self.value, out, lse
        return None if lengths is None else kernels.backward_packed(self.attention, *inputs, lengths)

    def _lengths_at_once(self) -> tuple[list[int], list[int]] | None:
        """Return the lengths of packed sequences if one call of the device's kernel computes them all."""
        if self.query_ends is None or not kernels.packs(self.attention, self.query, self.value):
            return None
        lengths = places.lengths(self)
        return lengths if lengths is not None and kernels.takes_packed(self.attention, lengths) else None


def _batched(tensor: Tensor) -> Tensor:
    return tensor if tensor.dim() == 4 else tensor[None]


def _covers(part: Part, query: Tensor) -> bool:
    rows, tokens = part.queries
    return rows == WHOLE[0] and tokens in (WHOLE[1], slice(0, query.shape[1]))


def _with_sink(out: Tensor, lse: Tensor, sink: Tensor) -> tuple[Tensor, Tensor]:
    """Return output and sums with one more key for each head, whose value is 0."""
    lse = lse.masked_fill(lse == math.inf, -math.inf)
    total = torch.logaddexp(lse, sink.float()[:, None])
    part = (lse - total).exp().transpose(-1, -2)[..., None]
    return (out * part).to(out.dtype), total


FIELDS = frozenset(field.name for field in dataclasses.fields(Request))
