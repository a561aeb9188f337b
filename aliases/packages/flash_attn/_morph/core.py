"""Attention of flash_attn 2, forward and backward, for sequences of equal and of different lengths."""

from __future__ import annotations

import torch
from torch import Tensor

from morph.aliases import attention as kernels
from morph.aliases.attention import Attention, Packing

from .bounds import Bounds
from .checks import (
    require,
    require_gradients,
    require_heads,
    require_inputs,
    require_output,
    require_shape,
    require_upstream,
)
from .options import Options, rng_state, rounded

Targets = tuple[Tensor | None, Tensor | None, Tensor | None]

NEW: Targets = (None, None, None)


def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    options: Options,
    bounds: Bounds | None = None,
    return_softmax: bool = False,
    out: Tensor | None = None,
) -> list[Tensor]:
    """Compute attention.

    Args:
        q: float16 or bfloat16, the head size a multiple of 8, of shape (batch, queries, heads, head size),
            or (all queries, heads, head size) with ``bounds``.
        k: Of shape (batch, keys, key heads, head size), (all keys, key heads, head size) with ``bounds``, or
            pages.
        v: Of the shape of ``k``.
        options: The options.
        bounds: The positions of sequences of different lengths.
        return_softmax: Whether to return the weights, which needs dropout and quadratic memory.
        out: The tensor for the output; None for a new one.

    Returns:
        The output; the logarithm of the softmax's sums, float32 of shape (batch, heads, queries) or (heads,
        all queries); the weights, of shape (batch, heads, queries, keys) padded to multiples of 128,
        negative where dropped, or an empty tensor; and two int64 that determine which weights were dropped.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    multiple = "query, key, value, and out_ must have a head_size that is a multiple of 8"
    _require(q, k, v, options, bounds, "forward", multiple)
    require_output(out, q)
    no_softmax = "return_softmax is only supported when p_dropout > 0.0"
    require(not return_softmax or options.dropout_p > 0, no_softmax)
    state = rng_state(q, options.dropout_p)
    longest = (q.shape[1], k.shape[1]) if bounds is None else bounds.longest
    attention, packing = options.attention(longest, state), None
    with kernels.full_precision(q):
        if bounds is None:
            result, lse = kernels.forward(attention, q, k, v)
        else:
            k, v, packing = bounds.packed(k, v)
            result, lse = kernels.forward_packed(attention, q, k, v, packing)
        softmax = _softmax(attention, q, k, packing, longest) if return_softmax else q.new_empty(0)
    return [result if out is None else out.copy_(result), lse, softmax, state]


def backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    options: Options,
    bounds: Bounds | None = None,
    targets: Targets = NEW,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the gradients of :func:`forward`, always deterministically.

    Args:
        dout: The gradient of the output.
        q: As passed to ``forward``, like ``k``, ``v``, ``options`` and ``bounds``.
        k: See ``q``.
        v: See ``q``.
        out: The output of ``forward``, or of an attention of which these keys are a part.
        softmax_lse: Likewise.
        options: See ``q``; ALiBi slopes get no gradient.
        bounds: See ``q``.
        targets: The tensors for the gradients of ``q``, ``k`` and ``v``; None for new tensors.
        state: The last result of ``forward``.

    Returns:
        The gradients of ``q``, ``k`` and ``v``, and the row sums of ``dout * out``, float32 of shape
        (batch, heads, queries padded to a multiple of 128), or (heads, all queries + 128 x batch), those of
        each sequence 128 after the end of the one before.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    _require(q, k, v, options, bounds, "backward", "head_size should be a multiple of 8")
    require_upstream(q, out, dout, softmax_lse)
    for name, each in {"out": out, "dout": dout}.items():
        require_shape(name, each, **_query_sizes(q))
    require_gradients(targets, (q, k, v))
    grads = gradients(dout, q, k, v, out, softmax_lse, options, bounds, targets, state)
    with kernels.full_precision(q):
        sums = row_sums(dout, out).transpose(-1, -2)
    return [*grads, _padded(sums) if bounds is None else _spread(sums, bounds.packed(k, v)[2])]


def gradients(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    options: Options,
    bounds: Bounds | None = None,
    targets: Targets = NEW,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Compute what :func:`backward` does, for checked arguments and without the row sums."""
    inputs = dout, q, k, v, out, softmax_lse
    longest = (q.shape[1], k.shape[1]) if bounds is None else bounds.longest
    attention = options.attention(longest, state)
    with kernels.full_precision(q):
        if bounds is None:
            return delivered(targets, kernels.backward(attention, *inputs), q.dtype)
        packing = bounds.packed(k, v)[2]
        return delivered(targets, kernels.backward_packed(attention, *inputs, packing), q.dtype)


def delivered(targets: Targets, grads: tuple[Tensor, ...], dtype: torch.dtype) -> list[Tensor]:
    """Write gradients to their targets, in the inputs' dtype."""
    pairs = zip(targets, grads, strict=True)
    return [grad.to(dtype) if target is None else target.copy_(grad) for target, grad in pairs]


def row_sums(dout: Tensor, out: Tensor) -> Tensor:
    """Return the products of gradient and output, summed over each head: float32."""
    return (dout * out).sum(-1, dtype=torch.float32)


def combined(parts: Tensor, sums: Tensor, out: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Combine outputs over parts of the keys by the logarithms of their sums; see ``flash_attn_combine``."""
    lse = sums.float().logsumexp(0)
    weights = (sums - lse).exp().nan_to_num(0.0)
    total = (parts.float() * weights[..., None]).sum(0)
    return total.to(dtype) if out is None else out.copy_(total), lse


def _require(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    options: Options,
    bounds: Bounds | None,
    direction: str,
    multiple_of_8: str,
) -> None:
    batch_size = q.shape[0] if bounds is None else bounds.batch_size
    require_inputs(q, k, v)
    require_heads(batch_size, q, k, direction)
    require(q.shape[-1] % 8 == 0, multiple_of_8)
    options.require(batch_size, q.shape[-2])
    if bounds is not None:
        bounds.require()
        bounds.require_keys(q, k, v)
        return
    for name, each in {"k": k, "v": v}.items():
        sizes = {"batch_size": batch_size, "seqlen_k": k.shape[1], "num_heads_k": k.shape[2]}
        require_shape(name, each, **sizes, head_size=q.shape[-1])


def _query_sizes(q: Tensor) -> dict[str, int]:
    names = ("total_q",) if q.dim() == 3 else ("batch_size", "seqlen_q")
    return dict(zip((*names, "num_heads", "head_size"), q.shape, strict=True))


def _softmax(
    attention: Attention, q: Tensor, k: Tensor, packing: Packing | None, longest: tuple[int, int]
) -> Tensor:
    batch_size = len(q) if packing is None else len(packing.queries)
    out = q.new_zeros(batch_size, q.shape[-2], rounded(longest[0]), rounded(longest[1]))
    if packing is None:
        kernels.weights(attention, q, k, out)
        return out
    for index, queries, keys in packing.sequences():
        kernels.weights(attention.of_sequence(index), q[queries][None], k[keys][None], out[index][None])
    return out


def _padded(sums: Tensor) -> Tensor:
    padded = sums.new_zeros(*sums.shape[:2], rounded(sums.shape[2]))
    padded[:, :, : sums.shape[2]] = sums
    return padded


def _spread(sums: Tensor, packing: Packing) -> Tensor:
    heads, total = sums.shape
    spread = sums.new_zeros(heads, total + 128 * len(packing.queries))
    for index, (start, end) in enumerate(packing.queries):
        spread[:, start + 128 * index : end + 128 * index] = sums[:, start:end]
    return spread
