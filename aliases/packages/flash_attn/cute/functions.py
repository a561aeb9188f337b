"""The differentiable functions of flash_attn 4."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._morph.direct import watched
from .._morph.operators import contiguous, maybe_contiguous
from .attention import backward, forward
from .checks import FLOAT8, refuse, require_values_in_scores, window_of

Grads = tuple[Tensor | None, ...]
Result = tuple[Tensor, Tensor | None]

_SHARED = (
    *("softmax_scale", "causal", "window_size", "learnable_sink", "softcap"),
    *("num_splits", "pack_gqa", "deterministic", "score_mod", "score_mod_bwd", "mask_mod"),
)
_DENSE = (
    *("q", "k", "v", "qv", "gather_kv_indices", *_SHARED, "aux_tensors", "aux_scalars"),
    *("block_sparse_tensors", "block_sparse_tensors_bwd", "return_lse"),
)
_BOUNDS = "cu_seqlens_q", "cu_seqlens_k", "seqused_q", "seqused_k"
_PACKED = (
    *("q", "k", "v", "qv", *_BOUNDS, "max_seqlen_q", "max_seqlen_k", "min_seqlen_k", "gather_kv_indices"),
    *("page_table", *_SHARED, "block_sparse_tensors", "aux_tensors", "aux_scalars", "return_lse"),
    *("scheduler_metadata", "seqlen_k_per_split", "disable_scheduler_metadata"),
)
_REFUSED = "gather_kv_indices", "score_mod", "mask_mod", "block_sparse_tensors", "block_sparse_tensors_bwd"


class FlashAttnFunc(torch.autograd.Function):
    """Attention for a batch of sequences of one length."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Result:
        """Compute attention; see :func:`flash_attn.cute.flash_attn_func`, whose arguments these are."""
        return _forward(ctx, dict(zip(_DENSE, arguments, strict=False)))

    @staticmethod
    def backward(ctx: Any, dout: Tensor | None, dlse: Tensor | None) -> Grads:
        """Compute the gradients of q, k, v, qv and the sinks."""
        *grads, dsink = _backward(ctx, dout, dlse)
        return *grads, None, None, None, None, dsink, *(None,) * 12


class FlashAttnVarlenFunc(torch.autograd.Function):
    """Attention within sequences of several lengths."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Result:
        """Compute attention; see :func:`flash_attn.cute.flash_attn_varlen_func`."""
        return _forward(ctx, dict(zip(_PACKED, arguments, strict=False)))

    @staticmethod
    def backward(ctx: Any, dout: Tensor | None, dlse: Tensor | None) -> Grads:
        """Compute the gradients of q, k, v, qv and the sinks."""
        *grads, dsink = _backward(ctx, dout, dlse)
        return *grads, *(None,) * 12, dsink, *(None,) * 14


def _forward(ctx: Any, given: dict[str, Any]) -> Result:
    refuse(**{name: given.get(name) for name in _REFUSED})
    q, k, v, qv = (given.get(name) for name in ("q", "k", "v", "qv"))
    sink, return_lse, softcap = (given.get(name) for name in ("learnable_sink", "return_lse", "softcap"))
    softcap = softcap or 0.0
    bounds = *(given.get(name) for name in _BOUNDS), maybe_contiguous(given.get("page_table"))
    needs_grad = any(x is not None and x.requires_grad for x in (q, k, v, qv, sink))
    ctx.is_shared = k is v
    q, k, v, qv = without_shared_keys(q, k, v, qv)  # type: ignore[arg-type]
    ctx.sizes = [0 if each is None else each.shape[-1] for each in (q, qv)]
    longest = v.shape[-3] if bounds[-1] is None else 1 << 31
    causal, window_size = given.get("causal", False), given.get("window_size", (None, None))
    left, right = window_of(causal, window_size, longest)
    if qv is not None:
        require_values_in_scores(q, qv, v, sink, softcap, left >= 0 or right > 0)
    query, key, v = contiguous(*_joined(q, k, v, qv), v)
    if v.dtype in FLOAT8 and needs_grad:
        raise NotImplementedError("FA4 CuTe FP8 backward is not supported yet (forward-only).")
    scale = given.get("softmax_scale")
    scale = sum(ctx.sizes) ** -0.5 if scale is None else scale
    compute = forward if watched(query, key, v) else forward._init_fn
    ctx.options = scale, left, right, softcap
    out, lse = compute(query, key, v, sink, *bounds, *ctx.options)
    ctx.save_for_backward(query, key, v, out, lse, sink, *bounds)
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
    """Return the inputs; if keys of size 512 are the values themselves, the queries only apply to values."""
    if k is v and v.shape[-1] == 512:
        return None, None, v, q if qv is None else qv
    return q, k, v, qv


def _joined(q: Tensor | None, k: Tensor | None, v: Tensor, qv: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the queries and keys whose products are the scores; with ``qv``, values are also keys."""
    assert q is not None or qv is not None
    if qv is None:
        assert q is not None
        assert k is not None
        return q, k
    if q is None or k is None:
        return qv, v
    return torch.cat([q, qv], -1), torch.cat([k, v], -1)
