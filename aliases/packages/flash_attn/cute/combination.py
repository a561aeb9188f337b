"""Combines attention that was computed over parts of the keys."""

from __future__ import annotations

import torch
from torch import Tensor

from .._morph.checks import on_device
from .._morph.core import combined
from .prepare_scheduler import SchedulerMetadataTensorsTorch


def flash_attn_combine(
    out_partial: Tensor,
    lse_partial: Tensor,
    out: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    cu_seqlens: Tensor | None = None,
    seqused: Tensor | None = None,
    virtual_batch_idx: Tensor | None = None,
    return_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Combine attention over parts of the keys.

    Args:
        out_partial: Of shape (parts, batch, queries, heads, size), or without the dimension of the batch.
        lse_partial: The logarithms of the sums, float32 of shape (parts, batch, queries, heads), likewise.
        out: The tensor for the output; None for a new one.
        out_dtype: The dtype of the output; None for that of ``out_partial``.
        cu_seqlens: Without effect.
        seqused: Without effect: all queries are combined.
        virtual_batch_idx: Without effect.
        return_lse: Whether the logarithm of the sums is returned.

    Returns:
        The output over all keys, and the logarithm of its sums, of the shape of a part's, or None.

    Raises:
        AssertionError: If flash_attn does not accept the arguments.
    """
    assert out_partial.dim() in (4, 5), "out_partial must have 4 or 5 dimensions"
    dtypes = torch.float16, torch.bfloat16, torch.float32
    assert out_partial.dtype in dtypes, "out_partial must be fp16, bf16, or fp32"
    assert all(map(on_device, (out_partial, lse_partial))), "tensors must be on CUDA device"
    result, lse = combined(out_partial, lse_partial, out, out_dtype or out_partial.dtype)
    return result, lse if return_lse else None


def get_scheduler_metadata(
    max_seqlen_q: int,
    max_seqlen_k: int,
    nheads: int,
    nheads_kv: int,
    headdim: int,
    num_splits: int,
    headdim_v: int | None = None,
    pack_gqa: int | None = None,
    causal: bool = False,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
    seqlen_k_new: int = 0,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    cu_seqlens_k_new: Tensor | None = None,
    seqused_q: Tensor | None = None,
    seqused_k: Tensor | None = None,
    leftpad_k: Tensor | None = None,
    seqlen_k_per_split: int | None = None,
    _arch: int | None = None,
) -> SchedulerMetadataTensorsTorch:
    """Return zeros, to be passed to :func:`flash_attn.cute.flash_attn_varlen_func`.

    Raises:
        AssertionError: If there are no lengths, or they do not belong to one batch.
    """
    names = "cu_seqlens_q", "cu_seqlens_k", "seqused_q", "seqused_k"
    given = zip(names, (cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k), strict=True)
    lengths = {name: tensor for name, tensor in given if tensor is not None}
    assert lengths, "get_scheduler_metadata requires at least one of " + "/".join(names)
    sizes = {name: len(tensor) - name.startswith("cu") for name, tensor in lengths.items()}
    assert len(set(sizes.values())) == 1, f"inconsistent batch size across inputs: {sizes}"
    like = next(iter(lengths.values()))
    zeros = like.new_zeros(next(iter(sizes.values())), dtype=torch.int32)
    return SchedulerMetadataTensorsTorch(zeros, zeros, zeros, zeros, zeros.new_zeros(1))
