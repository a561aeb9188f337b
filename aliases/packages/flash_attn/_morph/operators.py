"""The operators of flash_attn 2, opaque to ``torch.compile``, and their fake implementations."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

from morph.aliases import attention as kernels

from . import core
from .bounds import Bounds
from .cache import Cache, attend
from .options import Options, rounded

Four = tuple[Tensor, Tensor, Tensor, Tensor]


def maybe_contiguous(x: Tensor | None) -> Tensor | None:
    """Return ``x``, copied if its last dimension is not contiguous."""
    return x.contiguous() if x is not None and x.stride(-1) != 1 else x


def contiguous(*tensors: Tensor) -> list[Tensor]:
    """Return tensors, those copied whose last dimension is not contiguous."""
    return [each.contiguous() if each.stride(-1) != 1 else each for each in tensors]


@custom_op("flash_attn::_flash_attn_forward", mutates_args=())
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
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute attention; see :func:`.core.forward`."""
    window = causal, window_size_left, window_size_right
    options = Options(dropout_p, softmax_scale, *window, softcap, alibi_slopes)
    q, k, v = contiguous(q, k, v)
    out, lse, softmax, rng_state = core.forward(q, k, v, options, None, return_softmax)
    return out, lse, softmax, rng_state


@custom_op("flash_attn::_flash_attn_varlen_forward", mutates_args=())
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
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute attention within each sequence; see :func:`.core.forward`."""
    window = causal, window_size_left, window_size_right
    options = Options(dropout_p, softmax_scale, *window, softcap, alibi_slopes)
    longest, keys = (max_seqlen_q, max_seqlen_k), (seqused_k, leftpad_k, block_table)
    bounds = Bounds(cu_seqlens_q, cu_seqlens_k, *longest, *keys, num_splits)
    q, k, v = contiguous(q, k, v)
    out, lse, softmax, rng_state = core.forward(q, k, v, options, bounds, return_softmax)
    return out, lse, softmax, rng_state


@custom_op("flash_attn::_flash_attn_backward", mutates_args=("dq", "dk", "dv"))
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
    """Write the gradients into ``dq``, ``dk`` and ``dv``; see :func:`.core.backward`."""
    window = causal, window_size_left, window_size_right
    options = Options(dropout_p, softmax_scale, *window, softcap, alibi_slopes)
    dout, q, k, v, out = contiguous(dout, q, k, v, out)
    return core.backward(dout, q, k, v, out, softmax_lse, options, None, (dq, dk, dv), rng_state)[3]


@custom_op("flash_attn::_flash_attn_varlen_backward", mutates_args=("dq", "dk", "dv"))
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
    """Write the gradients into ``dq``, ``dk`` and ``dv``; see :func:`.core.backward`."""
    window = causal, window_size_left, window_size_right
    options = Options(dropout_p, softmax_scale, *window, softcap, alibi_slopes)
    bounds = Bounds(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    dout, q, k, v, out = contiguous(dout, q, k, v, out)
    return core.backward(dout, q, k, v, out, softmax_lse, options, bounds, (dq, dk, dv), rng_state)[3]


@custom_op("flash_attn::_fwd_kvcache", mutates_args=("keys", "values"))
def _fwd_kvcache(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    k: Tensor | None,
    v: Tensor | None,
    lengths: Tensor | None,
    cos: Tensor | None,
    sin: Tensor | None,
    rows: Tensor | None,
    leftpad: Tensor | None,
    table: Tensor | None,
    slopes: Tensor | None,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    interleaved: bool,
) -> tuple[Tensor, Tensor]:
    """Compute attention over a cache; see :func:`.cache.attend`."""
    window = causal, window_size_left, window_size_right
    options = Options(0.0, softmax_scale, *window, softcap, slopes)
    cache = Cache(keys, values, lengths, rows, leftpad, table)
    out, lse = attend(q, cache, (k, v), (cos, sin, interleaved), options)
    return out, lse


def _fake(operator: Any, results: Callable[..., Any]) -> Callable[..., Any]:
    """Register ``results`` as the fake implementation of an operator, and return that function."""
    function: Callable[..., Any] = operator._init_fn
    signature = inspect.signature(function)

    @functools.wraps(function)
    def fake(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return results(**bound.arguments)

    operator.register_fake(fake)
    kernels.as_one_kernel(operator)
    return fake


def _attended(q: Tensor, k: Tensor, return_softmax: bool, **others: Any) -> Four:
    batch_size, longest = q.shape[0], (q.shape[1], k.shape[1])
    if "cu_seqlens_q" in others:
        batch_size = others["cu_seqlens_q"].shape[0] - 1
        longest = others["max_seqlen_q"], others["max_seqlen_k"]
    shape = batch_size, q.shape[-2], *map(rounded, longest)
    lse = q.new_empty([*q.shape[:-3], q.shape[-2], q.shape[-3]], dtype=torch.float32)
    softmax = q.new_empty(shape if return_softmax else 0)
    return q.new_empty(q.shape), lse, softmax, q.new_empty(2, dtype=torch.int64)


def _attended_over_a_cache(q: Tensor, **others: Any) -> tuple[Tensor, Tensor]:
    lse = q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)
    return q.new_empty(q.shape), lse


def _differentiated(q: Tensor, **others: Any) -> Tensor:
    if "cu_seqlens_q" in others:
        rows = q.shape[0] + 128 * (others["cu_seqlens_q"].shape[0] - 1)
        return q.new_empty((q.shape[1], rows), dtype=torch.float32)
    return q.new_empty((q.shape[0], q.shape[2], rounded(q.shape[1])), dtype=torch.float32)


_flash_attn_forward_fake = _fake(_flash_attn_forward, _attended)
_flash_attn_varlen_forward_fake = _fake(_flash_attn_varlen_forward, _attended)
_flash_attn_backward_fake = _fake(_flash_attn_backward, _differentiated)
_flash_attn_varlen_backward_fake = _fake(_flash_attn_varlen_backward, _differentiated)
_fake(_fwd_kvcache, _attended_over_a_cache)
_wrapped_flash_attn_forward = torch.ops.flash_attn._flash_attn_forward
_wrapped_flash_attn_varlen_forward = torch.ops.flash_attn._flash_attn_varlen_forward
_wrapped_flash_attn_backward = torch.ops.flash_attn._flash_attn_backward
_wrapped_flash_attn_varlen_backward = torch.ops.flash_attn._flash_attn_varlen_backward
