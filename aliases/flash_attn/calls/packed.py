"""Attention within sequences of several lengths, which follow each other in one tensor."""

from __future__ import annotations

import itertools

from torch import Tensor

from .. import kernels
from ..kernels import Packing
from ..kernels.packed import Range
from .checks import (
    require,
    require_device,
    require_gradients,
    require_heads,
    require_indices,
    require_inputs,
    require_multiple_of_8,
    require_options,
    require_output,
    require_shape,
)
from .dense import delivered, require_upstream, row_sums
from .options import attention_of, rng_state, rounded
from .pages import PAGES_AND_LEFTPAD, gather, require_table


def varlen_fwd(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out_: Tensor | None,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    seqused_k: Tensor | None,
    leftpad_k_: Tensor | None,
    block_table_: Tensor | None,
    alibi_slopes_: Tensor | None,
    max_seqlen_q: int,
    max_seqlen_k: int,
    p_dropout: float,
    softmax_scale: float,
    zero_tensors: bool,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    return_softmax: bool,
    unused_generator_compat: None = None,
    num_splits: int = 0,
) -> list[Tensor]:
    """Compute attention within each sequence; see :func:`.dense.fwd` for what is not listed here.

    Args:
        q: Of shape (all queries, heads, head size).
        k: Of shape (all keys, key heads, head size), or pages: (pages, tokens of a page, key heads, head
            size).
        v: Of the shape of ``k``.
        out_: Where to put the output; None for a new tensor.
        cu_seqlens_q: int32 of shape (batch + 1,): where the queries of each sequence begin, and the last
            ones end.
        cu_seqlens_k: Likewise for the keys.
        seqused_k: int32 of shape (batch,): how many keys of each sequence count; None for all.
        leftpad_k_: int32 of shape (batch,): how many keys at the beginning of each sequence do not count.
        block_table_: int32 of shape (batch, most pages of a sequence), if the keys lie in pages.
        alibi_slopes_: float32, of shape (heads,) or (batch, heads), or None.
        max_seqlen_q: The most queries of a sequence.
        max_seqlen_k: The most keys of a sequence.
        p_dropout: The probability that a weight is dropped.
        softmax_scale: What the product of a query and a key is multiplied by.
        zero_tensors: Without effect: what no sequence covers is zero.
        is_causal: Whether a query sees no later key.
        window_size_left: How many earlier keys a query sees; negative for all.
        window_size_right: How many later keys a query sees; negative for all.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        return_softmax: Whether the weights are wanted.
        unused_generator_compat: None.
        num_splits: Without effect on the result.

    Returns:
        As ``fwd``; the logarithm of the sums has the shape (heads, all queries).

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
    """
    batch_size, (_, num_heads, head_size) = cu_seqlens_q.numel() - 1, q.shape
    require_inputs(q, k, v)
    require_heads(batch_size, num_heads, k.shape[-2], head_size)
    require_multiple_of_8(head_size)
    require_options(p_dropout, softcap, alibi_slopes_, batch_size, num_heads)
    _require_bounds(batch_size, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    require_indices("seqused_k", seqused_k, batch_size=batch_size)
    require_output(out_, q, tuple(q.shape))
    require(not return_softmax or p_dropout > 0, "return_softmax is only supported when p_dropout > 0.0")
    state = rng_state(q, p_dropout)
    window = is_causal, window_size_left, window_size_right
    longest = max_seqlen_q, max_seqlen_k
    attention = attention_of(softmax_scale, *window, softcap, alibi_slopes_, *longest, p_dropout, state)
    with kernels.full_precision(q):
        keys = _used(ranges(cu_seqlens_k), seqused_k, leftpad_k_)
        if block_table_ is None:
            _require_keys(k, v, head_size)
        else:
            k, v, keys = _paged(k, v, block_table_, leftpad_k_, num_splits, keys)
        packing = Packing(ranges(cu_seqlens_q), keys)
        out, lse = kernels.forward_packed(attention, q, k, v, packing)
        shape = batch_size, num_heads, rounded(max_seqlen_q), rounded(max_seqlen_k)
        softmax = q.new_zeros(shape if return_softmax else 0)
        if return_softmax:
            _write_softmax(attention, q, k, packing, softmax)
    return [out if out_ is None else out_.copy_(out), lse, softmax, state]


def varlen_bwd(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq_: Tensor | None,
    dk_: Tensor | None,
    dv_: Tensor | None,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    alibi_slopes_: Tensor | None,
    max_seqlen_q: int,
    max_seqlen_k: int,
    p_dropout: float,
    softmax_scale: float,
    zero_tensors: bool,
    is_causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    deterministic: bool,
    unused_generator_compat: None = None,
    rng_state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the gradients of :func:`varlen_fwd`; its arguments, and those of :func:`.dense.bwd`.

    Returns:
        The gradients of ``q``, ``k`` and ``v``, and the row sums of ``dout * out``, float32 of shape
        (heads, all queries + 128 x batch), those of each sequence 128 after the end of the one before.

    Raises:
        RuntimeError: If flash_attn does not take the arguments.
    """
    batch_size, (total_q, num_heads, head_size) = cu_seqlens_q.numel() - 1, q.shape
    require_inputs(q, k, v)
    require_upstream(q, out, dout, softmax_lse)
    require_heads(batch_size, num_heads, k.shape[1], head_size, "backward")
    require(head_size % 8 == 0, "head_size should be a multiple of 8")
    require_options(p_dropout, softcap, alibi_slopes_, batch_size, num_heads)
    _require_bounds(batch_size, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    _require_keys(k, v, head_size)
    for name, each in {"out": out, "dout": dout}.items():
        require_shape(name, each, total_q=total_q, num_heads=num_heads, head_size=head_size)
    require_gradients({"dq": (dq_, q), "dk": (dk_, k), "dv": (dv_, v)})
    window = is_causal, window_size_left, window_size_right
    longest = max_seqlen_q, max_seqlen_k
    attention = attention_of(softmax_scale, *window, softcap, alibi_slopes_, *longest, p_dropout, rng_state)
    packing = Packing(ranges(cu_seqlens_q), ranges(cu_seqlens_k))
    with kernels.full_precision(q):
        grads = kernels.backward_packed(attention, dout, q, k, v, out, softmax_lse, packing)
        softmax_d = _spread(row_sums(dout, out).T, packing)
    return [*delivered((dq_, dk_, dv_), grads, q.dtype), softmax_d]


def _require_bounds(batch_size: int, **bounds: Tensor) -> None:
    require_device(**bounds)
    for name, tensor in bounds.items():
        require_indices(name, tensor, **{"batch_size + 1": batch_size + 1})


def _require_keys(k: Tensor, v: Tensor, head_size: int) -> None:
    for name, tensor in {"k": k, "v": v}.items():
        require_shape(name, tensor, total_k=len(k), num_heads_k=k.shape[-2], head_size=head_size)


def ranges(cu_seqlens: Tensor) -> list[Range]:
    """Return where each sequence begins and ends."""
    return list(itertools.pairwise(cu_seqlens.tolist()))


def _used(keys: list[Range], seqused: Tensor | None, leftpad: Tensor | None) -> list[Range]:
    """Return the part of each range that counts."""
    if leftpad is not None:
        require_indices("leftpad_k", leftpad, batch_size=len(keys))
    ends = [end for _, end in keys]
    if seqused is not None:
        ends = [start + used for (start, _), used in zip(keys, seqused.tolist(), strict=True)]
    pads = [0] * len(keys) if leftpad is None else leftpad.tolist()
    return [(start + pad, end) for (start, _), end, pad in zip(keys, ends, pads, strict=True)]


def _paged(
    k: Tensor, v: Tensor, table: Tensor, leftpad: Tensor | None, num_splits: int, keys: list[Range]
) -> tuple[Tensor, Tensor, list[Range]]:
    require_table(table, k.shape[1], len(keys))
    require(leftpad is None, PAGES_AND_LEFTPAD)
    require(num_splits <= 1, "num_splits > 1 is not supported for varlen paged KV")
    return gather(k, v, table, [end - start for start, end in keys])


def _write_softmax(
    attention: kernels.Attention, q: Tensor, k: Tensor, packing: Packing, softmax: Tensor
) -> None:
    for index, queries, keys in packing.sequences():
        own = attention.of_sequence(index)
        kernels.weights(own, q[queries][None], k[keys][None], softmax[index][None])


def _spread(sums: Tensor, packing: Packing) -> Tensor:
    heads, total = sums.shape
    spread = sums.new_zeros(heads, total + 128 * len(packing.queries))
    for index, (start, end) in enumerate(packing.queries):
        spread[:, start + 128 * index : end + 128 * index] = sums[:, start:end]
    return spread
