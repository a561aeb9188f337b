"""The functions of flash_attn 4."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from torch import Tensor

from .._morph import fourth
from .._morph.differentiable import PAIRS, attend, contiguous, pair
from .._morph.direct import attend as attend_directly
from .._morph.fields import fields_of
from .._morph.original import recorded
from .block_sparsity import BlockSparseTensorsTorch

_of_flash_attn_4 = recorded(__name__)
_OPTIONS = (
    "learnable_sink=None, cu_seqlens_q=None, cu_seqlens_k=None, seqused_q=None, seqused_k=None, "
    "page_table=None, softmax_scale=None, window_size_left=-1, window_size_right=-1, softcap=0.0"
)
_FORWARD = f"(q, k, v, {_OPTIONS})"
_BACKWARD = f"(dout, q, k, v, out, softmax_lse, dq, dk, dv, dlse=None, {_OPTIONS})"


PAIRS["4"] = pair(
    "flash_attn_4::_flash_attn",
    (_FORWARD, _BACKWARD),
    tuple[Tensor, Tensor],
    (fourth.forward, fourth.attended),
    (fourth.backward, fourth.differentiated),
)
PAIRS["4 with sums"] = dataclasses.replace(PAIRS["4"], sums_have_gradients=True)


@_of_flash_attn_4
def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> tuple[Tensor, Tensor | None]:
    """Compute attention for a batch of sequences of one length, differentiably.

    ``qv``, ``gather_kv_indices``, ``score_mod``, ``mask_mod`` and blocks are not served; other options that
    are not listed have no effect on the result. Inputs may be of 8 bits.

    Returns:
        The output, of shape (batch, queries, heads, value size), 0 for a query that sees no key; and the
        logarithm of the sums, float32 of shape (batch, heads, queries), None unless requested or an input
        requires gradients.

    Raises:
        AssertionError: If flash_attn does not accept the arguments.
        NotImplementedError: If morph does not serve an option.
    """
    if fourth.is_plain(k, v, options) and not any(each.requires_grad for each in (q, k, v)):
        out = attend_directly(q, k, v, options["softmax_scale"], options["causal"])
        if out is not None:
            return out, None
    return _general(q, k, v, **options)


@_of_flash_attn_4
def flash_attn_varlen_func(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> tuple[Tensor, Tensor | None]:
    """Compute attention within sequences of several lengths, with the options of :func:`flash_attn_func`.

    ``q`` is of shape (all queries, heads, head size), or without ``cu_seqlens_q`` has a dimension for the
    batch; ``k`` and ``v`` are of shape (all keys, key heads, size), or without ``cu_seqlens_k`` have a
    dimension for the batch or for the pages of ``page_table``. The longest and shortest lengths and schedules
    have no effect on the result.

    Returns:
        The output; and the logarithm of the sums, float32 of shape (heads, all queries), None as for
        :func:`flash_attn_func`.

    Raises:
        AssertionError: If flash_attn does not accept the arguments.
        NotImplementedError: If morph does not serve an option.
    """
    return _general(q, k, v, **options)


@functools.cache
@_of_flash_attn_4
def _validate_head_dims(head_dim: int, head_dim_v: int, compute_capability: int, alignment: int) -> None:
    """Reject head sizes that flash_attn's kernels for a generation of NVIDIA GPUs do not support.

    Raises:
        AssertionError: If they do not.
    """
    sizes = f"(head_dim, head_dim_v)=({head_dim}, {head_dim_v}) is not supported on"
    aligned = head_dim % alignment == 0 == head_dim_v % alignment
    if compute_capability == 9:
        allowed = aligned and 8 <= min(head_dim, head_dim_v) and max(head_dim, head_dim_v) <= 256
        assert allowed, (
            f"{sizes} SM90. head_dim and head_dim_v must be between 8 and 256 and divisible by {alignment}."
        )
    if compute_capability in (10, 11):
        special = (head_dim, head_dim_v) in ((192, 128), (64, 512), (512, 512), (256, 256))
        usual = 8 <= min(head_dim, head_dim_v) and max(head_dim, head_dim_v) <= 128
        allowed = aligned and (special or usual)
        assert allowed, (
            f"{sizes} SM100/SM110. head_dim and head_dim_v must be between 8 and 128 and divisible by "
            f"{alignment}, or (192, 128) for DeepSeek, or (256, 256) for hd256."
        )


def _general(
    q: Tensor, k: Tensor, v: Tensor, return_lse: bool, causal: bool, **options: Any
) -> tuple[Tensor, Tensor | None]:
    fourth.refuse(options)
    left, right = fourth.window_of(causal, options.pop("window_size"), v, options.get("page_table"))
    sink = options["learnable_sink"]
    needs_grad = any(x is not None and x.requires_grad for x in (q, k, v, sink))
    fourth.require_no_gradients_of_8_bits(v, needs_grad)
    scale = options.pop("softmax_scale")
    given = {"softmax_scale": q.shape[-1] ** -0.5 if scale is None else scale, "window_size_left": left}
    tensors = dict(zip("qkv", map(contiguous, (q, k, v)), strict=True))
    out, lse = attend(
        "4 with sums" if return_lse else "4",
        fields_of({**options, **given, **tensors, "window_size_right": right}),
    )
    return out, lse if needs_grad or return_lse else None


__all__ = [
    "BlockSparseTensorsTorch",
    "flash_attn_func",
    "flash_attn_varlen_func",
]
