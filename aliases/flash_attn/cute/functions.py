"""The differentiable functions of flash_attn 4."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._morph.direct import watched
from .._morph.operators import contiguous, maybe_contiguous
from .attention import Bounds, backward, forward, window_of
from .checks import FLOAT8, refuse, require_values_in_scores

Result = tuple[Tensor, Tensor | None]
NO_BOUNDS: Bounds = (None, None, None, None, None)


class FlashAttnFunc(torch.autograd.Function):
    """Attention for a batch of sequences of one length."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        qv: Tensor | None = None,
        gather_kv_indices: Tensor | None = None,
        softmax_scale: float | None = None,
        causal: bool = False,
        window_size: tuple[int | None, int | None] = (None, None),
        learnable_sink: Tensor | None = None,
        softcap: float = 0.0,
        num_splits: int = 1,
        pack_gqa: bool | None = None,
        deterministic: bool = False,
        score_mod: Any = None,
        score_mod_bwd: Any = None,
        mask_mod: Any = None,
        aux_tensors: list[Tensor] | None = None,
        aux_scalars: tuple[Any, ...] | None = None,
        block_sparse_tensors: Any = None,
        block_sparse_tensors_bwd: Any = None,
        return_lse: bool = False,
    ) -> Result:
        """Compute attention; see :func:`flash_attn.cute.flash_attn_func`."""
        refuse(gather_kv_indices=gather_kv_indices, score_mod=score_mod, mask_mod=mask_mod)
        refuse(block_sparse_tensors=block_sparse_tensors, block_sparse_tensors_bwd=block_sparse_tensors_bwd)
        options = softmax_scale, causal, window_size, learnable_sink, softcap
        return _forward(ctx, q, k, v, qv, NO_BOUNDS, *options, return_lse)

    @staticmethod
    def backward(ctx: Any, dout: Tensor | None, dlse: Tensor | None) -> tuple[Tensor | None, ...]:
        """Compute the gradients of q, k, v, qv and the sinks."""
        *grads, dsink = _backward(ctx, dout, dlse)
        return *grads, None, None, None, None, dsink, *(None,) * 12


class FlashAttnVarlenFunc(torch.autograd.Function):
    """Attention within sequences of several lengths."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        qv: Tensor | None = None,
        cu_seqlens_q: Tensor | None = None,
        cu_seqlens_k: Tensor | None = None,
        seqused_q: Tensor | None = None,
        seqused_k: Tensor | None = None,
        max_seqlen_q: int | None = None,
        max_seqlen_k: int | None = None,
        min_seqlen_k: int | None = None,
        gather_kv_indices: Tensor | None = None,
        page_table: Tensor | None = None,
        softmax_scale: float | None = None,
        causal: bool = False,
        window_size: tuple[int | None, int | None] = (None, None),
        learnable_sink: Tensor | None = None,
        softcap: float = 0.0,
        num_splits: int = 1,
        pack_gqa: bool | None = None,
        deterministic: bool = False,
        score_mod: Any = None,
        score_mod_bwd: Any = None,
        mask_mod: Any = None,
        block_sparse_tensors: Any = None,
        aux_tensors: list[Tensor] | None = None,
        aux_scalars: tuple[Any, ...] | None = None,
        return_lse: bool = False,
        scheduler_metadata: Any = None,
        seqlen_k_per_split: int | None = None,
        disable_scheduler_metadata: bool = False,
    ) -> Result:
        """Compute attention; see :func:`flash_attn.cute.flash_attn_varlen_func`."""
        refuse(gather_kv_indices=gather_kv_indices, score_mod=score_mod, mask_mod=mask_mod)
        refuse(block_sparse_tensors=block_sparse_tensors)
        bounds = cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k, maybe_contiguous(page_table)
        options = softmax_scale, causal, window_size, learnable_sink, softcap
        return _forward(ctx, q, k, v, qv, bounds, *options, return_lse)

    @staticmethod
    def backward(ctx: Any, dout: Tensor | None, dlse: Tensor | None) -> tuple[Tensor | None, ...]:
        """Compute the gradients of q, k, v, qv and the sinks."""
        *grads, dsink = _backward(ctx, dout, dlse)
        return *grads, *(None,) * 12, dsink, *(None,) * 14


def _forward(
    ctx: Any,
    q: Tensor | None,
    k: Tensor | None,
    v: Tensor,
    qv: Tensor | None,
    bounds: Bounds,
    softmax_scale: float | None,
    causal: bool,
    window_size: tuple[int | None, int | None],
    learnable_sink: Tensor | None,
    softcap: float,
    return_lse: bool,
) -> Result:
    needs_grad = any(x is not None and x.requires_grad for x in (q, k, v, qv, learnable_sink))
    ctx.is_shared = k is v
    q, k, v, qv = without_shared_keys(q, k, v, qv)
    ctx.sizes = [0 if each is None else each.shape[-1] for each in (q, qv)]
    left, right = window_of(causal, window_size, v.shape[-3] if bounds[-1] is None else 1 << 31)
    if qv is not None:
        require_values_in_scores(q, qv, v, learnable_sink, softcap, left >= 0 or right > 0)
    query, key, v = contiguous(*_joined(q, k, v, qv), v)
    if v.dtype in FLOAT8 and needs_grad:
        raise NotImplementedError("FA4 CuTe FP8 backward is not supported yet (forward-only).")
    scale = sum(ctx.sizes) ** -0.5 if softmax_scale is None else softmax_scale
    compute = forward if watched(query, key, v) else forward._init_fn
    ctx.options = scale, left, right, softcap
    out, lse = compute(query, key, v, learnable_sink, *bounds, *ctx.options)
    ctx.save_for_backward(query, key, v, out, lse, learnable_sink, *bounds)
    ctx.returns_lse = return_lse
    ctx.set_materialize_grads(False)
    if qv is not None:
        lse = lse.transpose(-1, -2).contiguous()
    return out, lse if needs_grad or return_lse else None


def _backward(ctx: Any, dout: Tensor | None, dlse: Tensor | None) -> list[Tensor | None]:
    query, key, value, out, lse, *rest = ctx.saved_tensors
    dout = torch.zeros_like(out) if dout is None else maybe_contiguous(dout)
    assert dout is not None
    dlse = dlse if ctx.returns_lse else None
    of_q, of_qv = ctx.sizes
    if dlse is not None and of_qv:
        dlse = dlse.transpose(-1, -2)
    compute = backward if watched(dout, query, key, value) else backward._init_fn
    dquery, dkey, dvalue, dsink = compute(dout, dlse, query, key, value, out, lse, *rest, *ctx.options)
    dsink = None if rest[0] is None else dsink
    if not of_qv:
        return [dquery, dkey, dvalue, None, dsink]
    dvalue = dvalue + dkey[..., of_q:]
    if of_q:
        return [dquery[..., :of_q], dkey[..., :of_q], dvalue, dquery[..., of_q:], dsink]
    return [dquery, dvalue, None, None, dsink] if ctx.is_shared else [None, None, dvalue, dquery, dsink]


def without_shared_keys(
    q: Tensor | None, k: Tensor | None, v: Tensor, qv: Tensor | None
) -> tuple[Tensor | None, Tensor | None, Tensor, Tensor | None]:
    """Return the inputs; where keys of 512 are the values themselves, the queries are for the values only."""
    if k is v and v.shape[-1] == 512:
        return None, None, v, q if qv is None else qv
    return q, k, v, qv


def _joined(q: Tensor | None, k: Tensor | None, v: Tensor, qv: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the queries and keys whose products are the scores; with ``qv`` values are keys too."""
    assert q is not None or qv is not None
    if qv is None:
        assert q is not None
        assert k is not None
        return q, k
    if q is None or k is None:
        return qv, v
    return torch.cat([q, qv], -1), torch.cat([k, v], -1)
