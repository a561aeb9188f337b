"""The functions of flash_attn 2's extension module, which only takes positional arguments."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import checks, second
from .caching import OVER_CACHE
from .differentiable import PAIRS, contiguous
from .fields import fields_of
from .original import written

_OPTIONS = "causal, window_size_left, window_size_right, softcap"
_BOUNDS = "cu_seqlens_q, cu_seqlens_k"
_GRADIENTS = "dout, q, k, v, out, softmax_lse, dq, dk, dv"


@written(f"(q, k, v, out, alibi_slopes, dropout_p, softmax_scale, {_OPTIONS}, return_softmax, gen=None, /)")
def fwd(out: Tensor | None, **arguments: Any) -> list[Tensor]:
    """Compute attention."""
    return _attended("2", out, arguments)


@written(
    f"(q, k, v, out, {_BOUNDS}, seqused_k, leftpad_k, block_table, alibi_slopes, max_seqlen_q, max_seqlen_k, "
    f"dropout_p, softmax_scale, zero_tensors, {_OPTIONS}, return_softmax, gen=None, num_splits=0, /)"
)
def varlen_fwd(out: Tensor | None, **arguments: Any) -> list[Tensor]:
    """Compute attention within each sequence; rows in no sequence are always zero."""
    return _attended("2 varlen", out, arguments)


@written(
    f"({_GRADIENTS}, alibi_slopes, dropout_p, softmax_scale, {_OPTIONS}, deterministic, gen=None, "
    "rng_state=None, /)"
)
def bwd(**arguments: Any) -> list[Tensor]:
    """Compute the gradients of :func:`fwd`."""
    return second.backward(fields_of(arguments), arguments)


@written(
    f"({_GRADIENTS}, {_BOUNDS}, alibi_slopes, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, "
    f"zero_tensors, {_OPTIONS}, deterministic, gen=None, rng_state=None, /)"
)
def varlen_bwd(**arguments: Any) -> list[Tensor]:
    """Compute the gradients of :func:`varlen_fwd`."""
    inputs = {name: contiguous(arguments[name]) for name in ("dout", "q", "k", "v", "out")}
    arguments |= inputs
    targets = {
        name: torch.empty_like(arguments[name[1:]]) if arguments[name] is None else arguments[name]
        for name in ("dq", "dk", "dv")
    }
    sums = PAIRS["2 varlen"].backward(fields_of(arguments), **_others(arguments), **targets)
    return [*targets.values(), sums]


@written(
    "(q, k_cache, v_cache, k_new, v_new, seqused_k, rotary_cos, rotary_sin, cache_batch_idx, cache_leftpad, "
    f"block_table, alibi_slopes, out, softmax_scale, {_OPTIONS}, rotary_interleaved, num_splits=0, /)"
)
def fwd_kvcache(out: Tensor | None, causal: bool, **arguments: Any) -> list[Tensor]:
    """Compute attention over a cache, to which new tokens are added in place first."""
    causal = causal and (arguments["q"].shape[1] > 1 or arguments["alibi_slopes"] is not None)
    checks.require_output(out, arguments["q"])
    result, lse = OVER_CACHE(fields_of({**arguments, "causal": causal}), release=2)
    return [result if out is None else out.copy_(result), lse]


def _attended(release: str, out: Tensor | None, arguments: dict[str, Any]) -> list[Tensor]:
    others = {name: arguments.get(name, 0) for name in ("return_softmax", "num_splits")}
    result, *rest = PAIRS[release].forward(fields_of(arguments), **others)
    checks.require_output(out, arguments["q"])
    return [result if out is None else out.copy_(result), *rest]


def _others(arguments: dict[str, Any]) -> dict[str, Any]:
    names = "dout", "out", "softmax_lse", "deterministic", "rng_state"
    return {name: arguments[name] for name in names}
