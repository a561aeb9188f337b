"""Attention over the blocks of a bias, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from morph.aliases import attention as kernels
from morph.aliases.attention import Attention
from morph.software import capture

from .inputs import Inputs
from .packed import PackedBias
from .plain import AttentionBias
from .windows import ALL, Block


class Call(NamedTuple):
    """What a call has besides its tensors.

    Attributes:
        bias: Which keys the queries see; None for all.
        scale: The factor of the scores.
        dropout: The probability that a weight is dropped.
        seed: Determines which weights are dropped.
    """

    bias: AttentionBias | None
    scale: float
    dropout: float = 0.0
    seed: int = 0

    @classmethod
    def of(cls, inputs: Inputs) -> Call:
        """Return the call of ``inputs``."""
        bias = inputs.attn_bias if isinstance(inputs.attn_bias, AttentionBias) else None
        seed = int(torch.randint(1 << 62, (), device=inputs.device)) if inputs.p else 0
        return cls(bias, inputs.scale_float, inputs.p, seed)

    def blocks(self, query: Tensor, key: Tensor) -> list[Block]:
        """Return which queries see which keys."""
        queries, keys = query.shape[1], key.shape[1]
        if self.bias is None:
            return [Block(slice(0, queries), slice(0, keys), keys, ALL)]
        return self.bias.blocks(queries, keys)


class _Part(NamedTuple):
    queries: slice
    keys: slice | Tensor
    attention: Attention

    def of(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return query[:, self.queries], key[:, self.keys], value[:, self.keys]


def _parts(call: Call, query: Tensor, key: Tensor, matrix: Tensor | None) -> Iterator[_Part]:
    for index, block in enumerate(call.blocks(query, key)):
        queries = block.queries.stop - block.queries.start
        if not queries or not block.size:
            continue
        seen, left, right = block.window.seen_from_end(queries, block.size)
        keys = block.keys
        keys = (
            slice(keys.start, keys.start + seen) if isinstance(keys, slice) else keys[:seen].to(query.device)
        )
        part = None if matrix is None else matrix[:, :, block.queries, keys]
        options: dict[str, Any] = {"dropout": call.dropout, "seed": call.seed + index, "matrix": part}
        yield _Part(block.queries, keys, Attention(call.scale, left, right, **options))


def forward(
    call: Call, query: Tensor, key: Tensor, value: Tensor, matrix: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute attention.

    Args:
        call: The bias and options.
        query: Of shape (batch, queries, heads, head size).
        key: Of shape (batch, keys, key heads, head size); the key heads divide the heads.
        value: Of shape (batch, keys, key heads, value size).
        matrix: Added to the scores, of shape (batch, heads, queries, keys).

    Returns:
        The output, of shape (batch, queries, heads, value size), and the logarithm of the softmax's sums,
        float32 of shape (batch, heads, queries). A query that sees no key has 0 and infinity.
    """
    batch, queries, heads, _ = query.shape
    graph = _graph_of(call)
    if graph is not None:
        lse = query.new_empty((batch, heads, queries), dtype=torch.float32)
        results = query.new_empty(batch, queries, heads, value.shape[-1]), lse
        graph.add_kernel(_on_lengths_of_the_replay(call, forward), (query, key, value, matrix), results)
        return results
    parts = list(_parts(call, query, key, matrix))
    with kernels.full_precision(query):
        if len(parts) == 1 and parts[0].queries == slice(0, queries) and batch:
            return kernels.forward(parts[0].attention, *parts[0].of(query, key, value))
        out = query.new_zeros(batch, queries, heads, value.shape[-1])
        lse = query.new_full((batch, heads, queries), torch.inf, dtype=torch.float32)
        for part in parts if batch else ():
            results = kernels.forward(part.attention, *part.of(query, key, value))
            out[:, part.queries], lse[:, :, part.queries] = results
    return out, lse


def backward(
    call: Call,
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    lse: Tensor,
    matrix: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Compute the gradients of :func:`forward`: of query, key and value, and of a matrix that needs one.

    ``out`` and ``lse`` are the results of ``forward``, or of an attention of which these keys are a part.
    """
    graph = _graph_of(call)
    if graph is not None:
        grads = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value), None
        inputs = grad, query, key, value, out, lse
        graph.add_kernel(_on_lengths_of_the_replay(call, backward), inputs, grads)
        return grads
    query_grad = torch.zeros_like(query, memory_format=torch.contiguous_format)
    key_grad, value_grad = (torch.zeros_like(each, dtype=torch.float32) for each in (key, value))
    wanted = matrix is not None and matrix.requires_grad
    matrix_grad = torch.zeros_like(matrix, dtype=torch.float32) if wanted else None  # type: ignore[arg-type]
    with kernels.full_precision(query):
        for part in _parts(call, query, key, matrix) if len(query) else ():
            own = part.queries
            part_matrix_grad = None if matrix_grad is None else matrix_grad[:, :, own, part.keys]
            own_query, own_key, own_value = part.of(query, key, value)
            inputs = grad[:, own], own_query, own_key, own_value, out[:, own], lse[:, :, own]
            parts = kernels.backward(part.attention, *inputs, matrix_grad=part_matrix_grad)
            query_grad[:, own] = parts[0]
            _add(key_grad, part.keys, parts[1])
            _add(value_grad, part.keys, parts[2])
    matrix_result = None if matrix_grad is None else matrix_grad.to(query.dtype)
    return query_grad, key_grad.to(key.dtype), value_grad.to(value.dtype), matrix_result


def _graph_of(call: Call) -> capture.Capture | None:
    """Return the graph of the software device that is to hold a call whose lengths the device has."""
    return capture.current() if isinstance(call.bias, PackedBias) else None


def _on_lengths_of_the_replay(call: Call, function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(*tensors: Any) -> Any:
        assert isinstance(call.bias, PackedBias)
        call.bias.read()
        return function(call, *tensors)

    return compute


class MemoryEfficientAttention(torch.autograd.Function):
    """Attention with gradients; the tensors are those of :func:`forward`."""

    @staticmethod
    def forward(
        ctx: Any, call: Call, query: Tensor, key: Tensor, value: Tensor, matrix: Tensor | None
    ) -> Tensor:
        """Compute the output."""
        out, lse = forward(call, query, key, value, matrix)
        ctx.save_for_backward(query, key, value, out, lse, matrix)
        ctx.call = call
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients."""
        query, key, value, out, lse, matrix = ctx.saved_tensors
        return None, *backward(ctx.call, grad, query, key, value, out, lse, matrix)


def traced(call: Call, query: Tensor, key: Tensor, value: Tensor, matrix: Tensor | None) -> Tensor:
    """Compute attention with torch's operators alone, for compilers; see :func:`forward`."""
    tensors = [each.transpose(1, 2) for each in (query, key, value)]
    outs = []
    for block in call.blocks(query, key):
        queries, own = block.queries.stop - block.queries.start, block.queries
        square = block.window.right == 0 and block.window.left is None and queries == block.size
        plain = block.window == ALL
        mask: Tensor | None = None if plain else ~block.window.hidden(queries, block.size, query.device)
        if matrix is not None:
            part = matrix[:, :, own, block.keys]
            mask = part if mask is None else part.masked_fill(~mask, -torch.inf)
        causal = square and matrix is None
        parts = tensors[0][:, :, own], tensors[1][:, :, block.keys], tensors[2][:, :, block.keys]
        options: dict[str, Any] = {"scale": call.scale, "dropout_p": call.dropout, "is_causal": causal}
        outs.append(
            functional.scaled_dot_product_attention(*parts, attn_mask=None if causal else mask, **options)
        )
    return torch.cat(outs, 2).transpose(1, 2)


def _add(total: Tensor, places: slice | Tensor, part: Tensor) -> None:
    if isinstance(places, slice):
        total[:, places] += part
    else:
        total.index_add_(1, places, part.to(total.dtype))
