"""What flash_attn 3's operators compute, from the fields of a request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from morph.aliases import attention as kernels
from morph.aliases.attention import Request
from morph.aliases.attention.places import FLOAT8

from . import checks
from .second import delivered, row_sums

Arguments = Mapping[str, Any]


def forward(fields: Arguments, others: Arguments) -> tuple[Tensor, Tensor]:
    """Compute attention, after adding new keys and values in place behind those counted by ``seqused_k``.

    Returns:
        The output, and the logarithm of the softmax's sums, minus infinity where no key is seen.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    request = Request(**fields)
    checks.require_third(request)
    both = request.new_key is not None and others.get("cu_seqlens_k_new") is not None
    checks.require(not both, "morph does not serve k_new together with cu_seqlens_k_new")
    with torch.no_grad(), kernels.full_precision(request.query):
        out, lse = request.appended().forward()
        return out, lse.masked_fill_(lse == math.inf, -math.inf)


def backward(fields: Arguments, others: Arguments) -> Tensor:
    """Write the gradients into ``dq``, ``dk`` and ``dv``, always deterministically.

    Returns:
        The row sums of ``dout * out``, float32 of the shape of ``softmax_lse``.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    request = Request(**fields)
    dout, out, lse, *targets = (others[name] for name in ("dout", "out", "softmax_lse", "dq", "dk", "dv"))
    checks.require_third(request)
    checks.require_upstream(request.query, out, dout, lse)
    with torch.no_grad():
        delivered(targets, request.backward(dout, out, lse), out.dtype)
        return row_sums(dout, out).transpose(-1, -2).contiguous()


def attended(q: Tensor, v: Tensor | None = None, **others: Any) -> tuple[Tensor, Tensor]:
    """Return tensors like the results of :func:`forward`; with a cache, the values are in ``v_cache``."""
    v = others["v_cache"] if v is None else v
    dtype = torch.bfloat16 if q.dtype in (FLOAT8, torch.float8_e5m2) else q.dtype
    shape = *q.shape[:-3], q.shape[-2], q.shape[-3]
    out = q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=dtype)
    return out, q.new_empty(shape, dtype=torch.float32)
