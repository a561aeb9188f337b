"""The differentiable functions of flash_attn 2, based on its operators.

Each takes the tensors and options in the order of the function in ``flash_attn_interface`` that calls it,
and last whether gradients may be needed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from . import core
from .bounds import Bounds
from .core import NEW, Targets
from .direct import watched
from .operators import (
    _flash_attn_backward,
    _flash_attn_forward,
    _flash_attn_varlen_backward,
    _flash_attn_varlen_forward,
)
from .options import Options

Result = Tensor | tuple[Tensor, Tensor, Tensor]
Grads = tuple[Tensor | None, ...]


def call(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """Call an autograd function with each tensor only once: Dynamo cannot trace repeated arguments."""
    if torch.compiler.is_compiling():
        arguments = _apart(arguments)
    return function.apply(*arguments)  # type: ignore[no-untyped-call]


class FlashAttnFunc(torch.autograd.Function):
    """Attention for a batch of sequences of one length."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, *options: Any) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_func`."""
        return _forward(ctx, (q, k, v), (q, k, v), (), *options)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradients of q, k and v."""
        return *_cut(dout, *_backward(ctx, dout)), *(None,) * 9


class FlashAttnKVPackedFunc(torch.autograd.Function):
    """Attention with keys and values in one tensor."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, kv: Tensor, *options: Any) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_kvpacked_func`."""
        return _forward(ctx, (q, kv), (q, *kv.unbind(2)), (), *options)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradients of q and kv."""
        k = ctx.saved_tensors[1]
        dkv = k.new_empty(*k.shape[:2], 2, *k.shape[2:])
        dq, *_ = _backward(ctx, dout, (None, dkv[:, :, 0], dkv[:, :, 1]))
        return *_cut(dout, dq, dkv), *(None,) * 9


class FlashAttnQKVPackedFunc(torch.autograd.Function):
    """Attention with queries, keys and values in one tensor."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, *options: Any) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_qkvpacked_func`."""
        return _forward(ctx, (qkv,), qkv.unbind(2), (), *options)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradient of qkv."""
        q = ctx.saved_tensors[0]
        dqkv = q.new_empty(*q.shape[:2], 3, *q.shape[2:])
        _backward(ctx, dout, (dqkv[:, :, 0], dqkv[:, :, 1], dqkv[:, :, 2]))
        return *_cut(dout, dqkv), *(None,) * 9


class FlashAttnVarlenFunc(torch.autograd.Function):
    """Attention within sequences of several lengths."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, *options: Any
    ) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_varlen_func`."""
        max_q, max_k, *asked, block_table, is_grad_enabled = options
        bounds = cu_q, cu_k, max_q, max_k
        return _forward(ctx, (q, k, v), (q, k, v), bounds, *asked, is_grad_enabled, block_table=block_table)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradients of q, k and v."""
        return *_cut(dout, *_backward(ctx, dout)), *(None,) * 14


class FlashAttnVarlenKVPackedFunc(torch.autograd.Function):
    """Attention within sequences of several lengths, with keys and values in one tensor."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, kv: Tensor, cu_q: Tensor, cu_k: Tensor, max_q: int, max_k: int, *options: Any
    ) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_varlen_kvpacked_func`."""
        return _forward(ctx, (q, kv), (q, *kv.unbind(1)), (cu_q, cu_k, max_q, max_k), *options)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradients of q and kv."""
        k = ctx.saved_tensors[1]
        dkv = k.new_empty(k.shape[0], 2, *k.shape[1:])
        dq, *_ = _backward(ctx, dout, (None, dkv[:, 0], dkv[:, 1]))
        return *_cut(dout, dq, dkv), *(None,) * 13


class FlashAttnVarlenQKVPackedFunc(torch.autograd.Function):
    """Attention within sequences of several lengths, with queries, keys and values in one tensor."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, cu_seqlens: Tensor, max_seqlen: int, *options: Any) -> Result:
        """Compute attention; see :func:`flash_attn.flash_attn_varlen_qkvpacked_func`."""
        bounds = cu_seqlens, cu_seqlens, max_seqlen, max_seqlen
        return _forward(ctx, (qkv,), qkv.unbind(1), bounds, *options)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *args: Any) -> Grads:
        """Compute the gradient of qkv."""
        q = ctx.saved_tensors[0]
        dqkv = q.new_empty(q.shape[0], 3, *q.shape[1:])
        _backward(ctx, dout, (dqkv[:, 0], dqkv[:, 1], dqkv[:, 2]))
        return *_cut(dout, dqkv), *(None,) * 11


def _forward(
    ctx: Any,
    given: tuple[Tensor, ...],
    tensors: tuple[Tensor, ...],
    bounds: tuple[Any, ...],
    *asked: Any,
    block_table: Tensor | None = None,
) -> Result:
    """Compute attention, and save what the backward pass needs.

    ``given`` are the tensors that may need gradients, and ``tensors`` the queries, keys and values, which are
    parts of them; ``bounds`` is empty, or contains where sequences begin, and the largest numbers of queries
    and keys. The other arguments are those of the function.
    """
    dropout_p, softmax_scale, causal, window, softcap, slopes, deterministic, return_softmax, grads = asked
    q, k, v = map(_padded, tensors)
    head_size = tensors[0].shape[-1]
    scale = head_size**-0.5 if softmax_scale is None else softmax_scale
    left, right = window
    options = Options(dropout_p, scale, causal, left, right, softcap, slopes)
    wanted = return_softmax and dropout_p > 0
    if not watched(q, k, v):
        where = *bounds, None, None, block_table
        sequences = Bounds(*where) if bounds else None
        out, lse, softmax, rng_state = core.forward(q, k, v, options, sequences, wanted)
    elif bounds:
        results = _flash_attn_varlen_forward(q, k, v, *bounds, *options, wanted, block_table)
        out, lse, softmax, rng_state = results
    else:
        out, lse, softmax, rng_state = _flash_attn_forward(q, k, v, *options, wanted)
    if grads and any(each.requires_grad for each in given):
        ctx.save_for_backward(q, k, v, out, lse, rng_state, *bounds[:2])
        ctx.options, ctx.deterministic, ctx.longest = options, deterministic, bounds[2:]
    out = out[..., :head_size]
    return (out, lse, softmax) if return_softmax else out


def _backward(ctx: Any, dout: Tensor, targets: Targets = NEW) -> list[Tensor]:
    """Compute the gradients of queries, keys and values, with the same padding."""
    q, k, v, out, lse, rng_state, *cu_seqlens = ctx.saved_tensors
    inputs = _padded(dout), q, k, v, out, lse
    if not watched(dout, q, k, v):
        bounds = Bounds(*cu_seqlens, *ctx.longest) if cu_seqlens else None
        return core.gradients(*inputs, ctx.options, bounds, targets, rng_state)
    pairs = zip(targets, (q, k, v), strict=True)
    grads = [torch.empty_like(each) if target is None else target for target, each in pairs]
    operator = _flash_attn_varlen_backward if cu_seqlens else _flash_attn_backward
    options = *cu_seqlens, *ctx.longest, *ctx.options, ctx.deterministic
    operator(*inputs, *grads, *options, rng_state=rng_state)
    return grads


def _apart(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``arguments`` with views of repeated tensors."""
    apart: list[Any] = []
    for each in arguments:
        again = isinstance(each, Tensor) and any(each is other for other in arguments[: len(apart)])
        apart.append(each.view_as(each) if again else each)
    return tuple(apart)


def _padded(tensor: Tensor) -> Tensor:
    """Return a tensor with contiguous heads, padded with zeros to a size that the operators accept."""
    missing = -tensor.shape[-1] % 8
    tensor = tensor.contiguous() if tensor.stride(-1) != 1 else tensor
    return functional.pad(tensor, [0, missing]) if missing else tensor


def _cut(dout: Tensor, *grads: Tensor) -> tuple[Tensor, ...]:
    """Return gradients without the padding."""
    return tuple(grad[..., : dout.shape[-1]] for grad in grads)
