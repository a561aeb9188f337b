"""What the autograd functions of flash_attn share: padding, what they keep, and calling the operators."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .backward import _wrapped_flash_attn_backward, _wrapped_flash_attn_varlen_backward
from .forward import _wrapped_flash_attn_forward, _wrapped_flash_attn_varlen_forward

Result = Tensor | tuple[Tensor, Tensor, Tensor]


def apply(function: type[torch.autograd.Function], *arguments: Any) -> Result:
    """Call an autograd function, which is told last whether gradients may be asked for."""
    result: Result = function.apply(*arguments, torch.is_grad_enabled())  # type: ignore[no-untyped-call]
    return result


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
    out, lse, softmax, rng_state = _wrapped_flash_attn_forward(
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


def backward(ctx: Any, dout: Tensor, dq: Tensor, dk: Tensor, dv: Tensor) -> None:
    """Write the gradients of what :func:`forward` was given into ``dq``, ``dk`` and ``dv``."""
    q, k, v, out, lse, rng_state = ctx.saved_tensors
    _wrapped_flash_attn_backward(
        padded(dout),
        q,
        k,
        v,
        out,
        lse,
        dq,
        dk,
        dv,
        ctx.dropout_p,
        ctx.softmax_scale,
        ctx.causal,
        *ctx.window_size,
        ctx.softcap,
        ctx.alibi_slopes,
        ctx.deterministic,
        rng_state=rng_state,
    )


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
    out, lse, softmax, rng_state = _wrapped_flash_attn_varlen_forward(
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


def varlen_backward(ctx: Any, dout: Tensor, dq: Tensor, dk: Tensor, dv: Tensor) -> None:
    """Write the gradients of what :func:`varlen_forward` was given into ``dq``, ``dk`` and ``dv``."""
    q, k, v, out, lse, rng_state, cu_seqlens_q, cu_seqlens_k = ctx.saved_tensors
    _wrapped_flash_attn_varlen_backward(
        padded(dout),
        q,
        k,
        v,
        out,
        lse,
        dq,
        dk,
        dv,
        cu_seqlens_q,
        cu_seqlens_k,
        *ctx.longest,
        ctx.dropout_p,
        ctx.softmax_scale,
        ctx.causal,
        *ctx.window_size,
        ctx.softcap,
        ctx.alibi_slopes,
        ctx.deterministic,
        rng_state=rng_state,
    )


def padded(tensor: Tensor) -> Tensor:
    """Return a tensor with zeros at the end of each head, up to a size that the operators take."""
    missing = -tensor.shape[-1] % 8
    return functional.pad(tensor, [0, missing]) if missing else tensor
