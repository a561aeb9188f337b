"""Attention over the blocks of a bias, forward and backward."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from morph.aliases.attention import Part, Request
from morph.software import capture

from .biases import AttentionBias
from .inputs import Inputs
from .packed import PackedBias
from .windows import ALL, hidden, sizes


@dataclasses.dataclass(frozen=True)
class Call:
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

    def parts(self, query: Tensor, key: Tensor) -> list[Part]:
        """Return which queries see which keys."""
        queries, keys = query.shape[1], key.shape[1]
        if self.bias is None:
            return [ALL.part(slice(0, queries), slice(0, keys))]
        return self.bias.parts(queries, keys)

    def request(self, query: Tensor, key: Tensor, value: Tensor, matrix: Tensor | None = None) -> Request:
        """Return the request for these tensors, with a matrix that is added to the scores."""
        request = Request(query, key, value, self.scale, dropout=self.dropout, matrix=matrix)
        numbered = enumerate(self.parts(query, key) if len(query) else ())
        parts = [self._completed(request, index, part) for index, part in numbered if min(sizes(part)) > 0]
        return dataclasses.replace(request, given=parts)

    def _completed(self, request: Request, index: int, part: Part) -> Part:
        (_, own), (rows, keys), matrix = part.queries, part.keys, request.matrix
        keys = keys if isinstance(keys, slice) else keys.to(request.query.device)
        options: dict[str, Any] = {"left": part.attention.left, "right": part.attention.right}
        options["matrix"] = None if matrix is None else matrix[:, :, own, keys]
        attention = dataclasses.replace(request.attention, **options, seed=self.seed + index)
        return part._replace(keys=(rows, keys), attention=attention)


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
    if graph is None:
        return call.request(query, key, value, matrix).forward()
    lse = query.new_empty((batch, heads, queries), dtype=torch.float32)
    results = query.new_empty(batch, queries, heads, value.shape[-1]), lse
    graph.add_kernel(_on_lengths_of_the_replay(call, forward), (query, key, value, matrix), results)
    return results


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
    wanted = matrix is not None and matrix.requires_grad
    matrix_grad = torch.zeros_like(matrix, dtype=torch.float32) if wanted else None  # type: ignore[arg-type]
    request = call.request(query, key, value, matrix)
    results = request.backward(grad, out, lse, matrix_grad=matrix_grad)
    pairs = zip(results, (query, key, value), strict=True)
    of_query, of_key, of_value = (each.to(like.dtype) for each, like in pairs)
    return of_query, of_key, of_value, None if matrix_grad is None else matrix_grad.to(query.dtype)


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
    for part in call.parts(query, key):
        (_, own), (_, keys), unseen = part.queries, part.keys, hidden(part, query.device)
        mask = None if unseen is None else ~unseen
        if matrix is not None:
            added = matrix[:, :, own, keys]
            mask = added if mask is None else added.masked_fill(~mask, -torch.inf)
        count, size = sizes(part)
        causal = matrix is None and count == size and part.attention.right == 0 > part.attention.left
        inputs = tensors[0][:, :, own], tensors[1][:, :, keys], tensors[2][:, :, keys]
        options: dict[str, Any] = {"scale": call.scale, "dropout_p": call.dropout, "is_causal": causal}
        outs.append(
            functional.scaled_dot_product_attention(*inputs, attn_mask=None if causal else mask, **options)
        )
    return torch.cat(outs, 2).transpose(1, 2)
