"""Attention for a batch of sequences of one length."""

from __future__ import annotations

import torch
from torch import Tensor

from .. import kernels
from .checks import (
    require,
    require_device,
    require_gradients,
    require_heads,
    require_inputs,
    require_multiple_of_8,
    require_options,
    require_output,
    require_shape,
)
from .options import attention_of, rng_state, rounded


def fwd(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out_: Tensor | None,
    alibi_slopes_: Tensor | None,
    p_dropout: float,
    softmax_scale: float,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    return_softmax: bool,
    unused_generator_compat: None = None,
) -> list[Tensor]:
    """Compute attention.

    Args:
        q: float16 or bfloat16 of shape (batch, queries, heads, head size), the head size a multiple of 8.
        k: Of shape (batch, keys, key heads, head size).
        v: Of shape (batch, keys, key heads, head size).
        out_: Where to put the output; None for a new tensor.
        alibi_slopes_: float32, of shape (heads,) or (batch, heads), or None.
        p_dropout: The probability that a weight is dropped.
        softmax_scale: What the product of a query and a key is multiplied by.
        is_causal: Whether a query sees no later key; queries and keys end at the same position.
        window_size_left: How many earlier keys a query sees; negative for all.
        window_size_right: How many later keys a query sees; negative for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        return_softmax: Whether the weights are wanted, which needs dropout and quadratic memory.
        unused_generator_compat: None.

    Returns:
        The output; the logarithm of the softmax's sums, float32 of shape (batch, heads, queries); the
        weights, of shape (batch, heads, queries, keys) padded to multiples of 128, negative where dropped,
        or an empty tensor; and two int64 that say which weights were dropped.

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
    """
    batch_size, seqlen_q, num_heads, head_size = q.shape
    seqlen_k, num_heads_k = k.shape[1:3]
    require_inputs(q, k, v)
    require_heads(batch_size, num_heads, num_heads_k, head_size)
    require_multiple_of_8(head_size)
    require_options(p_dropout, softcap, alibi_slopes_, batch_size, num_heads)
    _require_shapes(q, k, v)
    require_output(out_, q, tuple(q.shape))
    require(not return_softmax or p_dropout > 0, "return_softmax is only supported when p_dropout > 0.0")
    state = rng_state(q, p_dropout)
    window = is_causal, window_size_left, window_size_right
    lengths = seqlen_q, seqlen_k
    attention = attention_of(softmax_scale, *window, softcap, alibi_slopes_, *lengths, p_dropout, state)
    with kernels.full_precision(q):
        out, lse = kernels.forward(attention, q, k, v)
        softmax = _softmax(attention, q, k) if return_softmax else q.new_empty(0)
    return [out if out_ is None else out_.copy_(out), lse, softmax, state]


def bwd(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq_: Tensor | None,
    dk_: Tensor | None,
    dv_: Tensor | None,
    alibi_slopes_: Tensor | None,
    p_dropout: float,
    softmax_scale: float,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    deterministic: bool,
    unused_generator_compat: None = None,
    rng_state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the gradients of :func:`fwd`, always deterministically.

    Args:
        dout: The gradient of the output.
        q: As given to ``fwd``.
        k: As given to ``fwd``.
        v: As given to ``fwd``.
        out: What ``fwd`` returned, or the output of an attention that these keys are a part of.
        softmax_lse: Likewise.
        dq_: Where to put the gradient of ``q``; None for a new tensor.
        dk_: Likewise for ``k``.
        dv_: Likewise for ``v``.
        alibi_slopes_: As given to ``fwd``; they get no gradient.
        p_dropout: As given to ``fwd``.
        softmax_scale: As given to ``fwd``.
        is_causal: As given to ``fwd``.
        window_size_left: As given to ``fwd``.
        window_size_right: As given to ``fwd``.
        softcap: As given to ``fwd``.
        deterministic: Without effect.
        unused_generator_compat: None.
        rng_state: What ``fwd`` returned.

    Returns:
        The gradients of ``q``, ``k`` and ``v``, and the row sums of ``dout * out``, float32 of shape
        (batch, heads, queries padded to a multiple of 128).

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
    """
    batch_size, seqlen_q, num_heads, head_size = q.shape
    require_inputs(q, k, v)
    require_upstream(q, out, dout, softmax_lse)
    require_heads(batch_size, num_heads, k.shape[2], head_size, "backward")
    require(head_size % 8 == 0, "head_size should be a multiple of 8")
    require_options(p_dropout, softcap, alibi_slopes_, batch_size, num_heads)
    _require_shapes(q, k, v, out=out, dout=dout)
    require_gradients({"dq": (dq_, q), "dk": (dk_, k), "dv": (dv_, v)})
    window = is_causal, window_size_left, window_size_right
    lengths = seqlen_q, k.shape[1]
    attention = attention_of(softmax_scale, *window, softcap, alibi_slopes_, *lengths, p_dropout, rng_state)
    with kernels.full_precision(q):
        grads = kernels.backward(attention, dout, q, k, v, out, softmax_lse)
        softmax_d = q.new_zeros(batch_size, num_heads, rounded(seqlen_q), dtype=torch.float32)
        softmax_d[:, :, :seqlen_q] = row_sums(dout, out).transpose(1, 2)
    return [*delivered((dq_, dk_, dv_), grads, q.dtype), softmax_d]


def require_upstream(q: Tensor, out: Tensor, dout: Tensor, softmax_lse: Tensor) -> None:
    """Refuse an output and its gradient whose dtype, device or strides flash_attn does not take."""
    for name, tensor in {"out": out, "dout": dout}.items():
        require(tensor.dtype == q.dtype, f"query and {name} must have the same dtype")
        require(tensor.stride(-1) == 1, f"{name} tensor must have contiguous last dimension")
    require_device(q=q, out=out, dout=dout, softmax_lse=softmax_lse)


def row_sums(dout: Tensor, out: Tensor) -> Tensor:
    """Return the products of gradient and output, summed over each head: float32."""
    return (dout * out).sum(-1, dtype=torch.float32)


def delivered(
    targets: tuple[Tensor | None, ...], grads: tuple[Tensor, ...], dtype: torch.dtype
) -> list[Tensor]:
    """Put gradients where they are wanted, in the inputs' dtype."""
    pairs = zip(targets, grads, strict=True)
    return [grad.to(dtype) if target is None else target.copy_(grad) for target, grad in pairs]


def _require_shapes(q: Tensor, k: Tensor, v: Tensor, **like_q: Tensor) -> None:
    batch_size, seqlen_q, num_heads, head_size = q.shape
    keys = {
        "batch_size": batch_size,
        "seqlen_k": k.shape[1],
        "num_heads_k": k.shape[2],
        "head_size": head_size,
    }
    require_shape("k", k, **keys)
    require_shape("v", v, **keys)
    for name, tensor in like_q.items():
        queries = {"batch_size": batch_size, "seqlen_q": seqlen_q, "num_heads": num_heads}
        require_shape(name, tensor, **queries, head_size=head_size)


def _softmax(attention: kernels.Attention, q: Tensor, k: Tensor) -> Tensor:
    out = q.new_zeros(q.shape[0], q.shape[2], rounded(q.shape[1]), rounded(k.shape[1]))
    kernels.weights(attention, q, k, out)
    return out
