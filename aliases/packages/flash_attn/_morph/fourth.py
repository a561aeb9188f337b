"""What flash_attn 4's operators compute, its checks, and the options that are not served."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from morph.aliases.attention import Request

from .checks import on_device
from .second import delivered
from .third import attended

FLOAT8 = torch.float8_e4m3fn, torch.float8_e5m2
_DTYPES = torch.float16, torch.bfloat16, *FLOAT8
_INDICES = "cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k must be"
_REFUSED = (
    *("qv", "gather_kv_indices", "score_mod", "mask_mod", "block_sparse_tensors"),
    "block_sparse_tensors_bwd",
)

__all__ = ["attended"]


def forward(fields: Mapping[str, Any], others: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Compute attention.

    Returns:
        The output; and the logarithm of the softmax's sums, minus infinity where no key is seen.

    Raises:
        AssertionError: If flash_attn does not accept the tensors.
    """
    request = Request(**fields)
    _require(request)
    if request.value.dtype in FLOAT8:  # bfloat16 represents all of its values
        inputs = {name: fields[name].bfloat16() for name in ("query", "key", "value")}
        request = Request(**{**fields, **inputs})
    out, lse = request.forward()
    return out, lse.masked_fill_(lse == math.inf, -math.inf)


def backward(fields: Mapping[str, Any], others: Mapping[str, Any]) -> Tensor:
    """Write the gradients into ``dq``, ``dk`` and ``dv``; return the sinks', or an empty tensor."""
    request = Request(**fields)
    dout, out, lse, *targets = (others[name] for name in ("dout", "out", "softmax_lse", "dq", "dk", "dv"))
    results = dout, out, lse, others.get("dlse")
    delivered(targets, request.backward(*results), request.query.dtype)
    return lse.new_empty(0) if request.sink is None else request.sink_gradient(*results)


def differentiated(softmax_lse: Tensor, learnable_sink: Tensor | None, **others: Any) -> Tensor:
    """Return a tensor like the result of :func:`backward`."""
    return softmax_lse.new_empty(0) if learnable_sink is None else torch.empty_like(learnable_sink)


def is_plain(k: Tensor, v: Tensor, options: Mapping[str, Any]) -> bool:
    """Return whether a call for a batch has no option that the device's kernel does not know."""
    if options["softcap"] or options["return_lse"] or options["window_size"] != (None, None) or k is v:
        return False
    others = "learnable_sink", "score_mod_bwd", "aux_tensors", "aux_scalars", *_REFUSED
    return all(options[name] is None for name in others)


def refuse(options: Mapping[str, Any]) -> None:
    """Reject options that are not served, by name, unless they are None.

    Raises:
        NotImplementedError: With the name of the first one that is passed.
    """
    for name in _REFUSED:
        if options.get(name) is not None:
            raise NotImplementedError(f"morph does not serve {name}, which is made for kernels in CuTe")


def require_no_gradients_of_8_bits(value: Tensor, needs_grad: bool) -> None:
    """Reject inputs of 8 bits that need gradients, as flash_attn does."""
    if value.dtype in FLOAT8 and needs_grad:
        raise NotImplementedError("FA4 CuTe FP8 backward is not supported yet (forward-only).")


def window_of(
    causal: bool, window_size: tuple[int | None, int | None], v: Tensor, page_table: Tensor | None
) -> tuple[int, int]:
    """Return how many keys before and after its own position a query sees, by flash_attn 4's rules.

    Args:
        causal: Whether a query sees no later key.
        window_size: How many keys before and after; None for all. Two values that leave no key mean all.
        v: The values.
        page_table: The table of pages, if the values are in pages.

    Returns:
        Two numbers, -1 for all.

    Raises:
        NotImplementedError: If one is negative, so that a query does not see its own position, which morph
            does not serve.
    """
    (left, right), longest = window_size, v.shape[-3] if page_table is None else 1 << 31
    right = 0 if causal else right
    if left is not None and right is not None and left + right < 0:
        left, right = None, 0 if causal else None
    if min(left or 0, right or 0) < 0:
        raise NotImplementedError("morph does not serve window_size with a negative bound")
    return -1 if left is None or left >= longest else left, -1 if right is None else right


def _require(request: Request) -> None:
    """Reject tensors that flash_attn does not accept; those that are None are ignored."""
    q, k, v, learnable_sink = request.query, request.key, request.value, request.sink
    cu_seqlens_q, cu_seqlens_k = request.query_ends, request.key_ends
    seqused_q, seqused_k, batch_size = request.queries_used, request.keys_used, request.batch_size
    _require_keys(request)
    for name, ends in {"cu_seqlens_k": cu_seqlens_k, "cu_seqlens_q": cu_seqlens_q}.items():
        shaped = ends is None or ends.shape == (batch_size + 1,)
        assert shaped, f"{name} must have shape (batch_size + 1,)"
    for name, used in {"seqused_q": seqused_q, "seqused_k": seqused_k}.items():
        assert used is None or used.shape == (batch_size,), f"{name} must have shape (batch_size,)"
    assert v.dtype in _DTYPES, "inputs must be float16, bfloat16, fp8 e4m3fn, or fp8 e5m2"
    assert q.dtype == k.dtype == v.dtype, "q, k, v, and qv must have the same dtype"
    indices = [each for each in (cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k) if each is not None]
    assert all(each.dtype == torch.int32 for each in indices), f"{_INDICES} int32"
    assert all(each.stride(0) == 1 for each in indices), f"{_INDICES} contiguous"
    if learnable_sink is not None:
        assert learnable_sink.shape == (q.shape[-2],)
        dtypes = torch.float16, torch.bfloat16, torch.float32
        assert learnable_sink.dtype in dtypes, "learnable_sink must be float16, bfloat16, or float32"
    others = [each for each in (request.table, learnable_sink) if each is not None]
    assert all(map(on_device, (q, k, v, *indices, *others))), "inputs must be on CUDA device"
    assert q.shape[-2] % v.shape[-2] == 0, "num_head must be divisible by num_head_kv"


def _require_keys(request: Request) -> None:
    v, page_table, packed = request.value, request.table, request.key_ends is not None
    if page_table is not None:
        assert not packed, "page_table is not supported with cu_seqlens_k"
        assert page_table.dtype == torch.int32, "page_table must be int32"
        assert page_table.shape == (request.batch_size, page_table.shape[1])
    elif not packed:
        assert v.shape[0] == request.batch_size
    assert v.dim() == (3 if packed else 4)
    assert request.key.shape == (*v.shape[:-1], request.query.shape[-1])
