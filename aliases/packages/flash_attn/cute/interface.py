"""The functions of flash_attn 4."""
# ruff: noqa: F401 (the imported names are part of the interface)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._morph.direct import attend
from .._morph.functions import call
from .block_sparsity import BlockSparseTensorsTorch
from .checks import _validate_head_dims
from .combination import flash_attn_combine, get_scheduler_metadata
from .functions import FlashAttnFunc, FlashAttnVarlenFunc, without_shared_keys
from .prepare_scheduler import SchedulerMetadataTensorsTorch

Window = tuple[int | None, int | None]


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    qv: Tensor | None = None,
    gather_kv_indices: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = (None, None),
    learnable_sink: Tensor | None = None,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: bool | None = None,
    deterministic: bool = False,
    score_mod: Callable[..., Any] | None = None,
    score_mod_bwd: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    aux_tensors: list[Tensor] | None = None,
    aux_scalars: tuple[Any, ...] | None = None,
    block_sparse_tensors: BlockSparseTensorsTorch | None = None,
    block_sparse_tensors_bwd: BlockSparseTensorsTorch | None = None,
    return_lse: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Compute attention for a batch of sequences of one length, differentiably.

    ``gather_kv_indices``, ``score_mod``, ``mask_mod`` and blocks are not served; other options that are not
    listed have no effect on the result.

    Args:
        q: float16, bfloat16 or of 8 bits, of shape (batch, queries, heads, head size).
        k: Of shape (batch, keys, key heads, head size); the key heads divide the heads.
        v: Of shape (batch, keys, key heads, value size). If ``k`` is this very tensor and the value size 512,
            the queries have the role of ``qv``.
        qv: Queries whose products with the values are added to the scores, (batch, queries, heads, 512).
        softmax_scale: The factor of the query-key products; None for 1 / sqrt(head size).
        causal: Whether a query sees no later key; queries and keys end at the same position.
        window_size: How many keys before and after its own position a query sees; None for all.
        learnable_sink: Of shape (heads,): the score of one more key of each head, whose value is 0.
        softcap: Scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.
        return_lse: Whether to return the logarithm of the softmax's sums, which then has gradients.

    Returns:
        The output, of shape (batch, queries, heads, value size), 0 for a query that sees no key; and the
        logarithm of the sums, float32 of shape (batch, heads, queries), with ``qv`` (batch, queries, heads),
        None unless requested or an input requires gradients.

    Raises:
        AssertionError: If flash_attn does not accept the arguments.
        NotImplementedError: If morph does not serve an option.
    """
    mods = score_mod, score_mod_bwd, mask_mod, aux_tensors, aux_scalars
    blocks = block_sparse_tensors, block_sparse_tensors_bwd
    seen = softmax_scale, causal, window_size, learnable_sink, softcap
    kernel = num_splits, pack_gqa, deterministic
    if not (softcap or return_lse) and window_size == (None, None) and k is not v:
        if all(each is None for each in (qv, gather_kv_indices, learnable_sink, *mods, *blocks)):
            out = _without_gradients(q, k, v, softmax_scale, causal)
            if out is not None:
                return out, None
    inputs = *without_shared_keys(q, k, v, qv), gather_kv_indices
    return call(FlashAttnFunc, *inputs, *seen, *kernel, *mods, *blocks, return_lse)  # type: ignore[no-any-return]


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    qv: Tensor | None = None,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    min_seqlen_k: int | None = None,
    seqused_q: Tensor | None = None,
    seqused_k: Tensor | None = None,
    gather_kv_indices: Tensor | None = None,
    page_table: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = (None, None),
    learnable_sink: Tensor | None = None,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: bool | None = None,
    deterministic: bool = False,
    score_mod: Callable[..., Any] | None = None,
    score_mod_bwd: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    block_sparse_tensors: BlockSparseTensorsTorch | None = None,
    aux_tensors: list[Tensor] | None = None,
    aux_scalars: tuple[Any, ...] | None = None,
    return_lse: bool = False,
    scheduler_metadata: SchedulerMetadataTensorsTorch | None = None,
    seqlen_k_per_split: int | None = None,
    disable_scheduler_metadata: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Compute attention within sequences of several lengths, with the options of :func:`flash_attn_func`.

    ``q`` is of shape (all queries, heads, head size), or without ``cu_seqlens_q`` has a dimension for the
    batch; ``k`` and ``v`` are of shape (all keys, key heads, size), or without ``cu_seqlens_k`` have a
    dimension for the batch or for the pages of ``page_table``, int32 of shape (batch, most pages of a
    sequence). ``cu_seqlens_q`` and ``cu_seqlens_k``, int32 of shape (batch + 1,), are where the queries and
    the keys of each sequence begin, and the last ones end; ``seqused_q`` and ``seqused_k``, int32 of shape
    (batch,), how many of each sequence are used. The longest and shortest lengths and schedules have no
    effect on the result.

    Returns:
        The output; and the logarithm of the sums, float32 of shape (heads, all queries), with ``qv`` (all
        queries, heads), None as for :func:`flash_attn_func`.

    Raises:
        AssertionError: If flash_attn does not accept the arguments.
        NotImplementedError: If morph does not serve an option.
    """
    bounds = cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k, max_seqlen_q, max_seqlen_k, min_seqlen_k
    seen = softmax_scale, causal, window_size, learnable_sink, softcap
    kernel = num_splits, pack_gqa, deterministic
    mods = score_mod, score_mod_bwd, mask_mod, block_sparse_tensors, aux_tensors, aux_scalars
    schedule = scheduler_metadata, seqlen_k_per_split, disable_scheduler_metadata
    inputs = *without_shared_keys(q, k, v, qv), *bounds, gather_kv_indices, page_table
    return call(FlashAttnVarlenFunc, *inputs, *seen, *kernel, *mods, return_lse, *schedule)  # type: ignore[no-any-return]


def _without_gradients(
    q: Tensor, k: Tensor, v: Tensor, softmax_scale: float | None, causal: bool
) -> Tensor | None:
    """Compute a call without options with the device's kernel, if no logarithm of the sums is expected."""
    if q.requires_grad or k.requires_grad or v.requires_grad:
        return None
    return attend(q, k, v, softmax_scale, causal)
