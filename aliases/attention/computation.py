"""The computation of a request: part by part, or with one call of the device's kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from . import kernels, places
from .options import Gradients, Saved
from .places import FLOAT8, WHOLE, Part
from .weights import weights

if TYPE_CHECKING:
    from .request import Request


def forward(request: Request) -> tuple[Tensor, Tensor]:
    """Compute attention.

    Returns:
        The output, of the shape of ``query`` with the size of ``value``; and the logarithm of the
        softmax's sums, float32 of shape (batch, heads, queries) or (heads, all queries). A query that
        sees no key, or is in no sequence, has 0 and infinity; with a ``sink``, 0 and the sink.
    """
    inputs = request.query, request.key, request.value
    with kernels.full_precision(request.query):
        lengths = _lengths_at_once(request)
        if lengths is not None:
            out, lse = kernels.forward_packed(request.attention, *inputs, lengths)
        else:
            out, lse = _forward_by_parts(request)
        return (out, lse) if request.sink is None else _with_sink(out, lse, request.sink)


def backward(
    request: Request,
    grad: Tensor,
    out: Tensor,
    lse: Tensor,
    lse_grad: Tensor | None = None,
    matrix_grad: Tensor | None = None,
) -> Gradients:
    """Compute the gradients of query, key and value.

    Args:
        request: The request.
        grad: The gradient of the output.
        out: The output of ``forward``, or of an attention of which these keys are a part.
        lse: Its other result, likewise.
        lse_grad: The gradient of ``lse``.
        matrix_grad: Zeros of the shape of ``matrix``, which receive its gradient.

    Returns:
        The gradients, in the dtype of the inputs or float32.
    """
    inputs = request.query, request.key, request.value
    with kernels.full_precision(request.query):
        lengths = None if lse_grad is not None else _lengths_at_once(request)
        if lengths is not None:
            return kernels.backward_packed(request.attention, Saved(grad, *inputs, out, lse), lengths)
        if request.query_ends is not None:
            lse, lse_grad = lse[None], None if lse_grad is None else lse_grad[None]
        grads = _backward_by_parts(request, _batched(grad), _batched(out), lse, lse_grad, matrix_grad)
        return tuple(each.view(like.shape) for each, like in zip(grads, inputs, strict=True))  # type: ignore[return-value]


def sink_gradient(
    request: Request, grad: Tensor, out: Tensor, lse: Tensor, lse_grad: Tensor | None
) -> Tensor:
    """Return the gradient of the sinks; see :func:`backward`."""
    assert request.sink is not None
    slope = -(grad.float() * out.float()).sum(-1).transpose(-1, -2)
    if lse_grad is not None:
        slope = slope + lse_grad
    heads = ((request.sink.float()[:, None] - lse).exp() * slope).sum(-1)
    return (heads if heads.dim() == 1 else heads.sum(0)).to(request.sink.dtype)


def weigh(request: Request, out: Tensor) -> None:
    """Compute the weights of the softmax as flash_attn leaves them; see :func:`.weights.weights`.

    Args:
        request: The request.
        out: Zeros of shape (batch, heads, queries or more, keys padded to a multiple of 128).
    """
    for part in _parts(request):
        query, key, _ = _inputs(request, part)
        weights(part.attention, query, key, out if part.sequence < 0 else out[part.sequence][None])


def _parts(request: Request) -> Sequence[Part]:
    return places.parts(request) if request.given is None else request.given


def _inputs(request: Request, part: Part) -> Gradients:
    """Return the queries, keys and values of a part, each of shape (sequences, tokens, heads, size)."""
    query = _batched(request.query)[part.queries]
    key, value = (places.selected(_batched(each), part.keys) for each in (request.key, request.value))
    if query.dtype == FLOAT8:
        query, key, value = _scaled(request, part.sequence, query, key, value)
    if request.query_value is not None:
        query = torch.cat([query, _batched(request.query_value)[part.queries]], -1)
        key = torch.cat([key, value], -1)
    return query, key, value


def _scaled(request: Request, index: int, query: Tensor, *others: Tensor) -> list[Tensor]:
    """Return 8-bit inputs of a sequence in float32, multiplied by their factors."""
    group = query.shape[2] // others[0].shape[2]
    scales = request.query_scale, request.key_scale, request.value_scale
    pairs = zip((query, *others), scales, (group, 1, 1), strict=True)
    return [
        each.float() if scale is None else each.float() * scale[index].repeat_interleave(heads)[:, None]
        for each, scale, heads in pairs
    ]


def _forward_by_parts(request: Request) -> tuple[Tensor, Tensor]:
    query, parts = _batched(request.query), _parts(request)
    if len(parts) == 1 and _covers(parts[0], query):
        out, lse = kernels.forward(parts[0].attention, *_inputs(request, parts[0]))
    else:
        batch, queries, heads, _ = query.shape
        dtype = torch.bfloat16 if query.dtype == FLOAT8 else query.dtype
        out = query.new_zeros(batch, queries, heads, request.value.shape[-1], dtype=dtype)
        lse = query.new_full((batch, heads, queries), math.inf, dtype=torch.float32)
        for part in parts:
            (rows, tokens), inputs = part.queries, _inputs(request, part)
            out[rows, tokens], lse[rows, :, tokens] = kernels.forward(part.attention, *inputs)
    return (out, lse) if request.query_ends is None else (out[0], lse[0])


def _backward_by_parts(
    request: Request,
    grad: Tensor,
    out: Tensor,
    lse: Tensor,
    lse_grad: Tensor | None,
    matrix_grad: Tensor | None,
) -> Gradients:
    query, key, value = map(_batched, (request.query, request.key, request.value))
    parts = _parts(request)
    if len(parts) == 1 and parts[0].is_whole:
        attention = parts[0].attention
        saved = Saved(grad, query, key, value, out, lse)
        return kernels.backward(attention, saved, lse_grad, matrix_grad)
    dtype = None if request.given is None else torch.float32  # parts may share keys
    of_query = torch.zeros_like(query, memory_format=torch.contiguous_format)
    of_key, of_value = (torch.zeros_like(each, dtype=dtype) for each in (key, value))
    for part in parts:
        rows, tokens = part.queries
        inputs = _inputs(request, part)
        saved = Saved(grad[rows, tokens], *inputs, out[rows, tokens], lse[rows, :, tokens])
        of_sums = None if lse_grad is None else lse_grad[rows, :, tokens]
        of_matrix = None if matrix_grad is None else matrix_grad[:, :, tokens, part.keys[1]]
        results = kernels.backward(part.attention, saved, of_sums, of_matrix)
        of_query[rows, tokens] = results[0]
        places.add(of_key, part.keys, results[1])
        places.add(of_value, part.keys, results[2])
    return of_query, of_key, of_value


def _lengths_at_once(request: Request) -> tuple[list[int], list[int]] | None:
    """Return the lengths of packed sequences if one call of the device's kernel computes them all."""
    if request.query_ends is None or not kernels.packs(request.attention, request.query, request.value):
        return None
    lengths = places.lengths(request)
    return lengths if lengths is not None and kernels.takes_packed(request.attention, lengths) else None


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
