"""What the autograd functions of flash_attn share: padding, what they keep, and calling the operators."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .. import kernels
from ..calls.dense import delivered
from ..calls.direct import watched
from ..calls.options import attention_of
from ..calls.packed import ranges
from ..kernels import Packing
from .backward import _wrapped_flash_attn_backward, _wrapped_flash_attn_varlen_backward
from .forward import _flash_attn_forward, _flash_attn_varlen_forward

Result = Tensor | tuple[Tensor, Tensor, Tensor]
Targets = tuple[Tensor | None, Tensor | None, Tensor | None]

NEW: Targets = (None, None, None)


def apply(function: type[torch.autograd.Function], *arguments: Any) -> Result:
    """Call an autograd function of flash_attn 2, which is told last whether gradients may be asked for."""
    result: Result = call(function, *arguments, torch.is_grad_enabled())
    return result


def call(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """Call an autograd function with each tensor once: Dynamo does not trace one that is given one twice."""
    if torch.compiler.is_compiling():
        arguments = _apart(arguments)
    return function.apply(*arguments)  # type: ignore[no-untyped-call]


def _apart(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``arguments`` with views of the tensors that are there already."""
    apart: list[Any] = []
    for each in arguments:
        again = isinstance(each, Tensor) and any(each is other for other in arguments[: len(apart)])
        apart.append(each.view_as(each) if again else each)
    return tuple(apart)


def keep_options(
    ctx: Any,
    dropout_p: float,
    softmax_scale: float | None,
    causal: bool,
    window_size: tuple[int, int],
    softcap: float,
    alibi_slopes: Tensor | None,
    deterministic: bool,
    head_size: int,
) -> None:
    """Keep the options of a call for the operators, which take no default scale."""
    ctx.dropout_p = dropout_p
    ctx.softmax_scale = head_size**-0.5 if softmax_scale is None else softmax_scale
    ctx.causal = causal
    ctx.window_size = window_size
    ctx.softcap = softcap
    ctx.alibi_slopes = alibi_slopes
    ctx.deterministic = deterministic


def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, return_softmax: bool, keep: bool) -> Result:
    """Compute attention for a batch of sequences of one length.

    Args:
        ctx: The context, with the options.
        q: Of shape (batch, queries, heads, head size).
        k: Of shape (batch, keys, key heads, head size).
        v: Of the shape of ``k``.
        return_softmax: Whether the sums and the weights are wanted too.
        keep: Whether there will be a backward pass.

    Returns:
        The output; with ``return_softmax`` also the logarithm of the sums, and the weights if any were
        dropped.
    """
    head_size = q.shape[-1]
    q, k, v = padded(q), padded(k), padded(v)
    attend = _flash_attn_forward if watched(q, k, v) else _flash_attn_forward._init_fn
    out, lse, softmax, rng_state = attend(
        q,
        k,
        v,
        ctx.dropout_p,
        ctx.softmax_scale,
        causal=ctx.causal,
        window_size_left=ctx.window_size[0],
        window_size_right=ctx.window_size[1],
        softcap=ctx.softcap,
        alibi_slopes=ctx.alibi_slopes,
        return_softmax=return_softmax and ctx.dropout_p > 0,
    )
    if keep:
        ctx.save_for_backward(q, k, v, out, lse, rng_state)
    out = out[..., :head_size]
    return (out, lse, softmax) if return_softmax else out


def backward(ctx: Any, dout: Tensor, targets: Targets) -> list[Tensor]:
    """Compute the gradients of what :func:`forward` was given.

    Args:
        ctx: The context, with the options.
        dout: The gradient of the output.
        targets: Where to put the gradients; None for new tensors.

    Returns:
        The gradients of ``q``, ``k`` and ``v``, as padded as these were.
    """
    q, k, v, out, lse, rng_state = ctx.saved_tensors
    inputs = padded(dout), q, k, v, out, lse
    if not watched(dout, q, k, v):
        attention = _attention(ctx, q.shape[1], k.shape[1], rng_state)
        with kernels.full_precision(q):
            return delivered(targets, kernels.backward(attention, *inputs), q.dtype)
    grads = _allocated(targets, (q, k, v))
    _wrapped_flash_attn_backward(*inputs, *grads, *_options(ctx), rng_state=rng_state)
    return grads


def varlen_forward(
    ctx: Any,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bounds: tuple[Tensor, Tensor, int, int],
    return_softmax: bool,
    keep: bool,
    block_table: Tensor | None = None,
) -> Result:
    """Compute attention within sequences.

    Args:
        ctx: The context, with the options.
        q: Of shape (all queries, heads, head size).
        k: Of shape (all keys, key heads, head size), or pages.
        v: Of the shape of ``k``.
        bounds: Where the queries and the keys of each sequence begin; the most of each in a sequence.
        return_softmax: Whether the sums and the weights are wanted too.
        keep: Whether there will be a backward pass.
        block_table: The pages of each sequence.

    Returns:
        As :func:`forward`.
    """
    head_size = q.shape[-1]
    q, k, v = padded(q), padded(k), padded(v)
    attend = _flash_attn_varlen_forward if watched(q, k, v) else _flash_attn_varlen_forward._init_fn
    out, lse, softmax, rng_state = attend(
        q,
        k,
        v,
        *bounds,
        ctx.dropout_p,
        ctx.softmax_scale,
        causal=ctx.causal,
        window_size_left=ctx.window_size[0],
        window_size_right=ctx.window_size[1],
        softcap=ctx.softcap,
        alibi_slopes=ctx.alibi_slopes,
        return_softmax=return_softmax and ctx.dropout_p > 0,
        block_table=block_table,
    )
    if keep:
        ctx.save_for_backward(q, k, v, out, lse, rng_state, *bounds[:2])
        ctx.longest = bounds[2:]
    out = out[..., :head_size]
    return (out, lse, softmax) if return_softmax else out


def varlen_backward(ctx: Any, dout: Tensor, targets: Targets) -> list[Tensor]:
    """Compute the gradients of what :func:`varlen_forward` was given; as :func:`backward`."""
    q, k, v, out, lse, rng_state, cu_seqlens_q, cu_seqlens_k = ctx.saved_tensors
    inputs = padded(dout), q, k, v, out, lse
    if not watched(dout, q, k, v):
        longest_q, longest_k = ctx.longest
        attention = _attention(ctx, longest_q, longest_k, rng_state)
        packing = Packing(ranges(cu_seqlens_q), ranges(cu_seqlens_k))
        with kernels.full_precision(q):
            return delivered(targets, kernels.backward_packed(attention, *inputs, packing), q.dtype)
    grads = _allocated(targets, (q, k, v))
    bounds = cu_seqlens_q, cu_seqlens_k, *ctx.longest
    _wrapped_flash_attn_varlen_backward(*inputs, *grads, *bounds, *_options(ctx), rng_state=rng_state)
    return grads


def padded(tensor: Tensor) -> Tensor:
    """Return a tensor whose heads are contiguous, with zeros up to a size that the operators take."""
    missing = -tensor.shape[-1] % 8
    tensor = tensor.contiguous() if tensor.stride(-1) != 1 else tensor
    return functional.pad(tensor, [0, missing]) if missing else tensor


def _attention(ctx: Any, max_queries: int, max_keys: int, rng_state: Tensor) -> kernels.Attention:
    left, right = ctx.window_size
    options = ctx.softcap, ctx.alibi_slopes, max_queries, max_keys, ctx.dropout_p
    return attention_of(ctx.softmax_scale, ctx.causal, left, right, *options, rng_state)


def _options(ctx: Any) -> tuple[Any, ...]:
    window = ctx.causal, *ctx.window_size
    return ctx.dropout_p, ctx.softmax_scale, *window, ctx.softcap, ctx.alibi_slopes, ctx.deterministic


def _allocated(targets: Targets, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    pairs = zip(targets, inputs, strict=True)
    return [torch.empty_like(each) if target is None else target for target, each in pairs]
