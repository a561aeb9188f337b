"""The operators that compute attention, opaque to ``torch.compile``, and what their results look like."""

from __future__ import annotations

import flash_attn_2_cuda
import torch
from torch import Tensor

from ..calls.options import rounded

Four = tuple[Tensor, Tensor, Tensor, Tensor]


def maybe_contiguous(x: Tensor | None) -> Tensor | None:
    """Return ``x``, copied if its last dimension is not contiguous."""
    return x.contiguous() if x is not None and x.stride(-1) != 1 else x


def contiguous(*tensors: Tensor) -> list[Tensor]:
    """Return tensors, those copied whose last dimension is not contiguous."""
    return [each.contiguous() if each.stride(-1) != 1 else each for each in tensors]


@torch.library.custom_op(
    "flash_attn::_flash_attn_forward",
    mutates_args=(),
    schema="(Tensor q, Tensor k, Tensor v, float dropout_p, float softmax_scale, bool causal, "
    "SymInt window_size_left, SymInt window_size_right, float softcap, Tensor? alibi_slopes, "
    "bool return_softmax) -> (Tensor, Tensor, Tensor, Tensor)",
)
def _flash_attn_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: Tensor | None,
    return_softmax: bool,
) -> Four:
    """Compute attention; see :func:`flash_attn.calls.dense.fwd`."""
    q, k, v = contiguous(q, k, v)
    window = causal, window_size_left, window_size_right
    options = dropout_p, softmax_scale, *window, softcap, return_softmax
    out, lse, softmax, rng_state = flash_attn_2_cuda.fwd(q, k, v, None, alibi_slopes, *options, None)
    return out, lse, softmax, rng_state


@torch.library.register_fake("flash_attn::_flash_attn_forward")  # type: ignore[untyped-decorator]
def _flash_attn_forward_fake(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: Tensor | None,
    return_softmax: bool,
) -> Four:
    (batch_size, seqlen_q, num_heads, _), seqlen_k = q.shape, k.shape[1]
    padded = batch_size, num_heads, rounded(seqlen_q), rounded(seqlen_k)
    softmax = q.new_empty(padded if return_softmax else 0)
    lse = q.new_empty((batch_size, num_heads, seqlen_q), dtype=torch.float32)
    return q.new_empty(q.shape), lse, softmax, q.new_empty(2, dtype=torch.int64)


_wrapped_flash_attn_forward = torch.ops.flash_attn._flash_attn_forward


@torch.library.custom_op(
    "flash_attn::_flash_attn_varlen_forward",
    mutates_args=(),
    schema="(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, Tensor cu_seqlens_k, SymInt max_seqlen_q, "
    "SymInt max_seqlen_k, float dropout_p, float softmax_scale, bool causal, SymInt window_size_left=-1, "
    "SymInt window_size_right=-1, float softcap=0.0, Tensor? alibi_slopes=None, bool return_softmax=False, "
    "Tensor? block_table=None, Tensor? leftpad_k=None, Tensor? seqused_k=None, bool zero_tensors=False, "
    "SymInt num_splits=0) -> (Tensor, Tensor, Tensor, Tensor)",
)
def _flash_attn_varlen_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int = -1,
    window_size_right: int = -1,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    return_softmax: bool = False,
    block_table: Tensor | None = None,
    leftpad_k: Tensor | None = None,
    seqused_k: Tensor | None = None,
    zero_tensors: bool = False,
    num_splits: int = 0,
) -> Four:
    """Compute attention within each sequence; see :func:`flash_attn.calls.packed.varlen_fwd`."""
    q, k, v = contiguous(q, k, v)
    keys = cu_seqlens_q, cu_seqlens_k, seqused_k, leftpad_k, block_table
    window = causal, window_size_left, window_size_right
    options = (
        max_seqlen_q,
        max_seqlen_k,
        dropout_p,
        softmax_scale,
        zero_tensors,
        *window,
        softcap,
        return_softmax,
    )
    out, lse, softmax, rng_state = flash_attn_2_cuda.varlen_fwd(
        q, k, v, None, *keys, alibi_slopes, *options, None, num_splits
    )
    return out, lse, softmax, rng_state


@torch.library.register_fake("flash_attn::_flash_attn_varlen_forward")  # type: ignore[untyped-decorator]
def _flash_attn_varlen_forward_fake(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int = -1,
    window_size_right: int = -1,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    return_softmax: bool = False,
    block_table: Tensor | None = None,
    leftpad_k: Tensor | None = None,
    seqused_k: Tensor | None = None,
    zero_tensors: bool = False,
    num_splits: int = 0,
) -> Four:
    total_q, num_heads, _ = q.shape
    padded = cu_seqlens_q.shape[0] - 1, num_heads, rounded(max_seqlen_q), rounded(max_seqlen_k)
    softmax = q.new_empty(padded if return_softmax else 0)
    lse = q.new_empty((num_heads, total_q), dtype=torch.float32)
    return q.new_empty(q.shape), lse, softmax, q.new_empty(2, dtype=torch.int64)


_wrapped_flash_attn_varlen_forward = torch.ops.flash_attn._flash_attn_varlen_forward
