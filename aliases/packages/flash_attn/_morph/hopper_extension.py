"""The operators of flash_attn 3's extension, for libraries that call them through their own interface."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .caching import OVER_CACHE
from .differentiable import PAIRS
from .fields import fields_of
from .hopper import flash_attn_combine
from .original import signature_of, written

_NAMESPACE = "flash_attn_3"
_FORWARD = signature_of("flash_attn_interface._flash_attn_forward")
for _own, _there in (
    *(("qv=", "q_v="), ("out_=", "out="), (" causal=", " is_causal="), ("num_splits=1", "num_splits=0")),
    ("rotary_interleaved=True", "is_rotary_interleaved=False"),
):
    _FORWARD = _FORWARD.replace(_own, _there)
_BACKWARD = (
    "(dout, q, k, v, out, softmax_lse, dq=None, dk=None, dv=None, cu_seqlens_q=None, cu_seqlens_k=None, "
    "seqused_q=None, seqused_k=None, max_seqlen_q=None, max_seqlen_k=None, softmax_scale=None, "
    "is_causal=False, window_size_left=-1, window_size_right=-1, softcap=0.0, "
    "deterministic=False, sm_margin=0)"
)
_METADATA = (
    "(batch_size, max_seqlen_q, max_seqlen_k, num_heads, num_heads_k, headdim, headdim_v, qkv_dtype, "
    "seqused_k, cu_seqlens_q=None, cu_seqlens_k=None, cu_seqlens_k_new=None, seqused_q=None, leftpad_k=None, "
    "page_size=None, max_seqlen_k_new=0, is_causal=False, window_size_left=-1, window_size_right=-1, "
    "attention_chunk=0, has_softcap=False, num_splits=0, pack_gqa=None, sm_margin=0)"
)


@written(_FORWARD)
def fwd(out: Tensor | None, q_v: Tensor | None, **arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute attention, as ``_flash_attn_forward`` does."""
    fields = fields_of({**arguments, "qv": q_v})
    cached = {"release": 3} if arguments["k_new"] is not None else {}
    result, lse, *_ = OVER_CACHE(fields, **cached) if cached else PAIRS["3"].forward(fields)
    return result if out is None else out.copy_(result), lse, lse.new_empty(0), lse.new_empty(0)


@written(_BACKWARD)
def bwd(**arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Write gradients into ``dq``, ``dk`` and ``dv``.

    Returns:
        The row sums of ``dout * out``, and four empty tensors, in which flash_attn stores partial results.
    """
    names = "dout", "out", "softmax_lse", "dq", "dk", "dv"
    sums = PAIRS["3"].backward(fields_of(arguments), **{name: arguments[name] for name in names})
    empty = [sums.new_empty(0) for _ in range(4)]
    return sums, empty[0], empty[1], empty[2], empty[3]


@written("(out_partial, lse_partial, out=None, out_dtype=None)")
def fwd_combine(**arguments: Any) -> tuple[Tensor, Tensor]:
    """Combine attention over parts of the keys."""
    return flash_attn_combine(**arguments)  # type: ignore[no-any-return]


@written(_METADATA)
def get_scheduler_metadata(batch_size: int, seqused_k: Tensor, **others: Any) -> Tensor:
    """Return zeros, to be passed to ``fwd``."""
    return seqused_k.new_zeros(batch_size + 1, dtype=torch.int32)


def _register(function: Callable[..., Any], *mutated: str) -> None:
    schema = torch.library.infer_schema(function, op_name=function.__name__, mutates_args=mutated)
    alias = re.search(r"Tensor(\(\w+!\))\? out=", schema)
    if alias:  # the first result is this tensor, if it is given
        schema = schema.replace("-> (Tensor,", f"-> (Tensor{alias[1]},")
    _LIBRARY.define(schema)  # type: ignore[no-untyped-call]
    _LIBRARY.impl(function.__name__, function, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]


if not hasattr(getattr(torch.ops, _NAMESPACE), "fwd"):
    _LIBRARY = torch.library.Library(_NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
    _register(fwd, "k_new", "v_new", "out")
    _register(bwd, "dq", "dk", "dv")
    _register(fwd_combine, "out")
    _register(get_scheduler_metadata)
