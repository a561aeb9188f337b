"""The operators of flash_attn 3's extension, for libraries that call them through their own interface."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..direct import is_captured
from .interface import flash_attn_combine
from .operators import Four, _flash_attn_backward, _flash_attn_forward

_NAMESPACE = "flash_attn_3"
_BOUNDS = "Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None"
_FORWARD = (
    "fwd(Tensor q, Tensor k, Tensor v, Tensor(k_new!)? k_new=None, Tensor(v_new!)? v_new=None, "
    f"Tensor? q_v=None, Tensor(out!)? out=None, {_BOUNDS}, Tensor? cu_seqlens_k_new=None, "
    "Tensor? seqused_q=None, Tensor? seqused_k=None, int? max_seqlen_q=None, int? max_seqlen_k=None, "
    "Tensor? page_table=None, Tensor? kv_batch_idx=None, Tensor? leftpad_k=None, Tensor? rotary_cos=None, "
    "Tensor? rotary_sin=None, Tensor? seqlens_rotary=None, Tensor? q_descale=None, Tensor? k_descale=None, "
    "Tensor? v_descale=None, float? softmax_scale=None, bool is_causal=False, int window_size_left=-1, "
    "int window_size_right=-1, int attention_chunk=0, float softcap=0.0, bool is_rotary_interleaved=False, "
    "Tensor? scheduler_metadata=None, int num_splits=0, bool? pack_gqa=None, int sm_margin=0) "
    "-> (Tensor(out!), Tensor, Tensor, Tensor)"
)
_BACKWARD = (
    "bwd(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor softmax_lse, Tensor(dq!)? dq=None, "
    f"Tensor(dk!)? dk=None, Tensor(dv!)? dv=None, {_BOUNDS}, Tensor? seqused_q=None, "
    "Tensor? seqused_k=None, int? max_seqlen_q=None, int? max_seqlen_k=None, float? softmax_scale=None, "
    "bool is_causal=False, int window_size_left=-1, int window_size_right=-1, float softcap=0.0, "
    "bool deterministic=False, int sm_margin=0) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
_COMBINE = (
    "fwd_combine(Tensor out_partial, Tensor lse_partial, Tensor(out!)? out=None, "
    "ScalarType? out_dtype=None) -> (Tensor(out!), Tensor)"
)
_METADATA = (
    "get_scheduler_metadata(int batch_size, int max_seqlen_q, int max_seqlen_k, int num_heads, "
    "int num_heads_k, int headdim, int headdim_v, ScalarType qkv_dtype, Tensor seqused_k, "
    f"{_BOUNDS}, Tensor? cu_seqlens_k_new=None, Tensor? seqused_q=None, Tensor? leftpad_k=None, "
    "int? page_size=None, int max_seqlen_k_new=0, bool is_causal=False, int window_size_left=-1, "
    "int window_size_right=-1, int attention_chunk=0, bool has_softcap=False, int num_splits=0, "
    "bool? pack_gqa=None, int sm_margin=0) -> Tensor"
)


def fwd(*args: Any, is_rotary_interleaved: bool = False, **kwargs: Any) -> Four:
    """Compute attention; see ``_flash_attn_forward``, which names some of the arguments differently."""
    renamed = {"q_v": "qv", "out": "out_", "is_causal": "causal"}
    named = {renamed.get(name, name): value for name, value in kwargs.items()}
    named["rotary_interleaved"] = is_rotary_interleaved
    if not is_captured():
        return _flash_attn_forward._init_fn(*args, **named)  # type: ignore[no-any-return]
    target = named.pop("out_", None)
    out, *rest = _flash_attn_forward(*args, **named)
    return out if target is None else target.copy_(out), *rest


def bwd(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    dq: Tensor | None = None,
    dk: Tensor | None = None,
    dv: Tensor | None = None,
    *options: Any,
) -> tuple[Tensor, ...]:
    """Write gradients into ``dq``, ``dk`` and ``dv``; see ``_flash_attn_backward``.

    Returns:
        The row sums of ``dout * out``, and four empty tensors, in which flash_attn stores partial results.
    """
    bounds = [*options[:6], *(None,) * (6 - len(options))]
    differentiate = _flash_attn_backward if is_captured() else _flash_attn_backward._init_fn
    sums = differentiate(dout, q, k, v, out, softmax_lse, *bounds, dq, dk, dv, *options[6:])
    return sums, *(sums.new_empty(0) for _ in range(4))


def metadata(*args: Any) -> Tensor:
    """Return zeros, to be passed to ``fwd``."""
    batch_size, seqused_k = args[0], args[8]
    return seqused_k.new_zeros(batch_size + 1, dtype=torch.int32)  # type: ignore[no-any-return]


def register() -> None:
    """Register the operators, unless they exist."""
    if hasattr(getattr(torch.ops, _NAMESPACE), "fwd"):
        return
    functions = {_FORWARD: fwd, _BACKWARD: bwd, _COMBINE: flash_attn_combine, _METADATA: metadata}
    for schema, function in functions.items():
        _LIBRARY.define(schema)  # type: ignore[no-untyped-call]
        _LIBRARY.impl(schema.partition("(")[0], function, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]


_LIBRARY = torch.library.Library(_NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
register()
