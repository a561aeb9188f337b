"""What flash_attn 2's operators compute, from the fields of a request."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from morph.aliases import attention as kernels
from morph.aliases.attention import Request
from morph.aliases.attention.places import ranges

from . import checks
from .differentiable import contiguous, seed_of

Four = tuple[Tensor, Tensor, Tensor, Tensor]
Arguments = Mapping[str, Any]


def forward(fields: Arguments, others: Arguments) -> Four:
    """Compute attention for a batch, or for sequences of different lengths.

    Args:
        fields: The arguments that a request has.
        others: The others of an operator.

    Returns:
        The output; the logarithm of the softmax's sums; the weights, of shape (batch, heads, queries, keys)
        padded to multiples of 128, negative where dropped, or an empty tensor; and two int64 that determine
        which weights were dropped.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    request = _request(fields)
    checks.require_call(request)
    no_splits = "num_splits > 1 is not supported for varlen paged KV"
    checks.require(request.table is None or others.get("num_splits", 0) <= 1, no_splits)
    q, dropout, wanted = request.query, request.dropout, others["return_softmax"]
    checks.require(not wanted or dropout > 0, "return_softmax is only supported when p_dropout > 0.0")
    if dropout:
        state = torch.randint(1 << 62, (2,), device=q.device)
        request = dataclasses.replace(request, seed=seed_of(state))
    else:
        state = q.new_zeros(2, dtype=torch.int64)
    result, lse = request.forward()
    weights = q.new_empty(0)
    if wanted:
        weights = q.new_zeros(request.batch_size, q.shape[-2], *map(rounded, request.longest))
        with kernels.full_precision(q):
            request.weigh(weights)
    return result, lse, weights, state


def backward(fields: Arguments, others: Arguments) -> list[Tensor]:
    """Compute the gradients of :func:`forward`, always deterministically, in the tensors that are given.

    Args:
        fields: The arguments that a request has.
        others: The others of an operator.

    Returns:
        The gradients of queries, keys and values, and the row sums of ``dout * out``, float32 of shape
        (batch, heads, queries padded to a multiple of 128), or (heads, all queries + 128 x batch), those of
        each sequence 128 after the end of the one before.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    state, targets = others.get("rng_state"), [others[name] for name in ("dq", "dk", "dv")]
    request = _request(fields)
    request = dataclasses.replace(request, seed=0 if state is None or not request.dropout else seed_of(state))
    dout, out, lse = contiguous(others["dout"]), contiguous(others["out"]), others["softmax_lse"]
    checks.require_call(request, "backward")
    checks.require_upstream(request.query, out, dout, lse)
    checks.require_shapes_of_queries(request.query, out=out, dout=dout)
    checks.require_gradients(tuple(targets), (request.query, request.key, request.value))
    grads = delivered(targets, request.backward(dout, out, lse), out.dtype)
    sums = row_sums(dout, out).transpose(-1, -2)
    return [*grads, _padded(sums) if request.query_ends is None else _spread(sums, request.query_ends)]


def with_cache(fields: Arguments) -> tuple[Tensor, Tensor]:
    """Compute attention over a cache, to which new tokens are added in place first.

    Returns:
        The output, and the logarithm of the softmax's sums, float32 of shape (batch, heads, queries).

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    request = Request(**fields)
    checks.require_cache(request)
    with torch.no_grad(), kernels.full_precision(request.query):
        return request.appended().forward()


def attended(
    q: Tensor, k: Tensor, return_softmax: bool = False, cu_seqlens_q: Tensor | None = None, **others: Any
) -> Four:
    """Return tensors like the results of :func:`forward`."""
    batch_size, longest = q.shape[0], (q.shape[1], k.shape[1])
    if cu_seqlens_q is not None:
        batch_size, longest = cu_seqlens_q.shape[0] - 1, (others["max_seqlen_q"], others["max_seqlen_k"])
    lse = q.new_empty([*q.shape[:-3], q.shape[-2], q.shape[-3]], dtype=torch.float32)
    weights = q.new_empty((batch_size, q.shape[-2], *map(rounded, longest)) if return_softmax else 0)
    return q.new_empty(q.shape), lse, weights, q.new_empty(2, dtype=torch.int64)


def differentiated(q: Tensor, cu_seqlens_q: Tensor | None = None, **others: Any) -> Tensor:
    """Return a tensor like the row sums of :func:`backward`."""
    if cu_seqlens_q is not None:
        rows = q.shape[0] + 128 * (cu_seqlens_q.shape[0] - 1)
        return q.new_empty((q.shape[1], rows), dtype=torch.float32)
    return q.new_empty((q.shape[0], q.shape[2], rounded(q.shape[1])), dtype=torch.float32)


def row_sums(dout: Tensor, out: Tensor) -> Tensor:
    """Return the products of gradient and output, summed over each head: float32."""
    with kernels.full_precision(out):
        return (dout * out).sum(-1, dtype=torch.float32)


def delivered(targets: Any, grads: tuple[Tensor, ...], dtype: torch.dtype) -> list[Tensor]:
    """Write gradients to their targets, or return them in the inputs' dtype."""
    pairs = zip(targets, grads, strict=True)
    return [grad.to(dtype) if target is None else target.copy_(grad) for target, grad in pairs]


def combined(parts: Tensor, sums: Tensor, out: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Combine outputs over parts of the keys by the logarithms of their sums."""
    lse = sums.float().logsumexp(0)
    weights = (sums - lse).exp().nan_to_num(0.0)
    total = (parts.float() * weights[..., None]).sum(0)
    return total.to(dtype) if out is None else out.copy_(total), lse


def rounded(length: int) -> int:
    """Return the next multiple of 128, to which flash_attn pads the returned weights."""
    return (length + 127) // 128 * 128


def _request(fields: Arguments) -> Request:
    inputs = {name: contiguous(fields[name]) for name in ("query", "key", "value")}
    return Request(**{**fields, **inputs})


def _padded(sums: Tensor) -> Tensor:
    padded = sums.new_zeros(*sums.shape[:2], rounded(sums.shape[2]))
    padded[:, :, : sums.shape[2]] = sums
    return padded


def _spread(sums: Tensor, query_ends: Tensor) -> Tensor:
    sequences = ranges(query_ends)
    spread = sums.new_zeros(len(sums), sums.shape[1] + 128 * len(sequences))
    for index, (start, end) in enumerate(sequences):
        spread[:, start + 128 * index : end + 128 * index] = sums[:, start:end]
    return spread
