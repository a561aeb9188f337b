"""The operators that compute gradients, opaque to ``torch.compile``, and what their results look like."""

from __future__ import annotations

import flash_attn_2_cuda
import torch
from torch import Tensor

from ..calls.options import rounded
from .forward import contiguous


@torch.library.custom_op(
    "flash_attn::_flash_attn_backward",
    mutates_args=("dq", "dk", "dv"),
    schema="(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor softmax_lse, Tensor(a6!)? dq, "
    "Tensor(a7!)? dk, Tensor(a8!)? dv, float dropout_p, float softmax_scale, bool causal, "
    "SymInt window_size_left, SymInt window_size_right, float softcap, Tensor? alibi_slopes, "
    "bool deterministic, Tensor? rng_state=None) -> Tensor",
)
def _flash_attn_backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq: Tensor | None,
    dk: Tensor | None,
    dv: Tensor | None,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: Tensor | None,
    deterministic: bool,
    rng_state: Tensor | None = None,
) -> Tensor:
    """Write the gradients into ``dq``, ``dk`` and ``dv``; see :func:`flash_attn.calls.dense.bwd`."""
    inputs = *contiguous(dout, q, k, v, out), softmax_lse
    options = dropout_p, softmax_scale, causal, window_size_left, window_size_right, softcap, deterministic
    *_, sums = flash_attn_2_cuda.bwd(*inputs, dq, dk, dv, alibi_slopes, *options, None, rng_state)
    return sums  # type: ignore[no-any-return]


@torch.library.register_fake("flash_attn::_flash_attn_backward")  # type: ignore[untyped-decorator]
def _flash_attn_backward_fake(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq: Tensor | None,
    dk: Tensor | None,
    dv: Tensor | None,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: Tensor | None,
    deterministic: bool,
    rng_state: Tensor | None = None,
) -> Tensor:
    batch_size, seqlen_q, num_heads, _ = q.shape
    return q.new_empty((batch_size, num_heads, rounded(seqlen_q)), dtype=torch.float32)


_wrapped_flash_attn_backward = torch.ops.flash_attn._flash_attn_backward


@torch.library.custom_op(
    "flash_attn::_flash_attn_varlen_backward",
    mutates_args=("dq", "dk", "dv"),
    schema="(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor softmax_lse, Tensor(a6!)? dq, "
    "Tensor(a7!)? dk, Tensor(a8!)? dv, Tensor cu_seqlens_q, Tensor cu_seqlens_k, SymInt max_seqlen_q, "
    "SymInt max_seqlen_k, float dropout_p, float softmax_scale, bool causal, SymInt window_size_left, "
    "SymInt window_size_right, float softcap, Tensor? alibi_slopes, bool deterministic, "
    "Tensor? rng_state=None, bool zero_tensors=False) -> Tensor",
)
def _flash_attn_varlen_backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq: Tensor | None,
    dk: Tensor | None,
    dv: Tensor | None,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: Tensor | None,
    deterministic: bool,
    rng_state: Tensor | None = None,
    zero_tensors: bool = False,
) -> Tensor:
    """Write the gradients into ``dq``, ``dk`` and ``dv``; see :func:`flash_attn.calls.packed.varlen_bwd`."""
    inputs = *contiguous(dout, q, k, v, out), softmax_lse
    lengths = cu_seqlens_q, cu_seqlens_k, alibi_slopes, max_seqlen_q, max_seqlen_k
    window = causal, window_size_left, window_size_right
    options = dropout_p, softmax_scale, zero_tensors, *window, softcap, deterministic
    *_, sums = flash_attn_2_cuda.varlen_bwd(*inputs, dq, dk, dv, *lengths, *options, None, rng_state)
    return sums  # type: ignore[no-any-return]


@torch.library.register_fake("flash_attn::_flash_attn_varlen_backward")  # type: ignore[untyped-decorator]
def _flash_attn_varlen_backward_fake(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq: Tensor | None,
    dk: Tensor | None,
    dv: Tensor | None,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: Tensor | None,
    deterministic: bool,
    rng_state: Tensor | None = None,
    zero_tensors: bool = False,
) -> Tensor:
    total_q, num_heads, _ = q.shape
    return q.new_empty((num_heads, total_q + 128 * (cu_seqlens_q.shape[0] - 1)), dtype=torch.float32)


_wrapped_flash_attn_varlen_backward = torch.ops.flash_attn._flash_attn_varlen_backward
