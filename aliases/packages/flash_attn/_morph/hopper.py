"""The functions of flash_attn 3, which has its own module, ``flash_attn_interface``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..flash_attn_interface import maybe_contiguous, round_multiple  # noqa: F401 (names of the original)
from . import third
from .caching import OVER_CACHE, lengths_of
from .checks import require
from .differentiable import PAIRS, attend, gradients, pair, save
from .direct import attend as attend_directly
from .fields import fields_of
from .original import recorded, signature_of
from .second import combined

USE_TRITON_ROCM = os.getenv("FLASH_ATTENTION_TRITON_AMD_ENABLE", "FALSE") == "TRUE"

flash_attn_3_gpu = torch.ops.flash_attn_3
_of_flash_attn_3 = recorded("flash_attn_interface")

Four = tuple[Tensor, Tensor, Tensor, Tensor]


@_of_flash_attn_3
def round_up_headdim(head_size: int) -> int:
    """Return the head size for which a kernel of flash_attn is compiled."""
    return next((size for size in (64, 96, 128, 192) if head_size <= size), 256)


def _attended(**arguments: Any) -> Four:
    out, lse = third.attended(**arguments)
    return out, lse, lse.new_empty(0), lse.new_empty(0)


def _differentiated(softmax_lse: Tensor, **arguments: Any) -> Tensor:
    return torch.empty_like(softmax_lse)


def _computed(fields: Mapping[str, Any], others: Mapping[str, Any]) -> Four:
    """Compute attention; the empty tensors are those in which flash_attn stores partial results."""
    out, lse = third.forward(fields, others)
    target = others.get("out_")
    return out if target is None else target.copy_(out), lse, lse.new_empty(0), lse.new_empty(0)


_signatures = [signature_of(f"flash_attn_interface._flash_attn_{way}") for way in ("forward", "backward")]
_halves = (_computed, _attended), (third.backward, _differentiated)
PAIRS["3"] = _pair = pair("flash_attn_3::_flash_attn", _signatures, Four, *_halves)
_flash_attn_forward, _flash_attn_forward_fake = _pair.forward.custom, _pair.forward.fake
_flash_attn_backward, _flash_attn_backward_fake = _pair.backward.custom, _pair.backward.fake


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Four) -> None:
    """Save what the backward pass of the operator needs."""
    save(ctx, fields_of(dict(zip(PAIRS["3"].forward.parameters, inputs, strict=True))), output)


def _backward(ctx: Any, dout: Tensor | None, *grads: Any) -> tuple[Tensor | None, ...]:
    of = gradients(ctx, "3", dout, None)
    return of["query"], of["key"], of["value"], *(None,) * 31


_flash_attn_forward.register_autograd(_backward, setup_context=setup_context)


@_of_flash_attn_3
def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, return_attn_probs: bool, **options: Any) -> Any:
    """Compute attention for a batch of sequences of one length, differentiably.

    8-bit inputs are float8_e4m3fn; ``qv`` and ``attention_chunk`` have no gradients.

    Returns:
        The output, of shape (batch, queries, heads, value size), 0 for a query that sees no key; with
        ``return_attn_probs`` also the logarithm of the sums, float32 of shape (batch, heads, queries),
        minus infinity where no key is seen.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    plain = options["window_size"] == (-1, -1) and options["qv"] is None
    if plain and not (options["attention_chunk"] or options["softcap"] or return_attn_probs):
        out = attend_directly(q, k, v, options["softmax_scale"], options["causal"])
        if out is not None:
            return out
    return _general(return_attn_probs, q=q, k=k, v=v, **options)


@_of_flash_attn_3
def flash_attn_varlen_func(return_attn_probs: bool, **arguments: Any) -> Any:
    """Compute attention within sequences of several lengths, with the options of :func:`flash_attn_func`.

    ``q`` is of shape (all queries, heads, head size), ``k`` of (all keys, key heads, head size) and ``v`` of
    (all keys, key heads, value size); the logarithm of the sums is of shape (heads, all queries).
    """
    return _general(return_attn_probs, **arguments)


@_of_flash_attn_3
def flash_attn_qkvpacked_func(
    qkv: Tensor, num_heads_q: int | None, return_attn_probs: bool, **options: Any
) -> Any:
    """Compute attention as :func:`flash_attn_func` does.

    ``qkv`` is (batch, tokens, 3, heads, head size), or (batch, tokens, heads + 2 x key heads, head size) with
    ``num_heads_q`` heads.
    """
    q, k, v = _parts(qkv, num_heads_q)
    return _general(return_attn_probs, q=q, k=k, v=v, **options)


@_of_flash_attn_3
def flash_attn_with_kvcache(return_softmax_lse: bool, cache_seqlens: Any, **options: Any) -> Any:
    """Compute attention over a cache, to which ``k`` and ``v`` are added in place first; without gradients.

    See :func:`flash_attn.flash_attn_with_kvcache`; pages may have any size. ``cu_seqlens_k_new`` has no
    effect, and is refused together with ``k``.

    Returns:
        The output; with ``return_softmax_lse`` also the logarithm of the softmax's sums, and two empty
        tensors.
    """
    for name in ("k_cache", "v_cache"):
        assert options[name].stride(-1) == 1, f"{name} must have contiguous last dimension"
    k, q, ends = options.pop("k"), maybe_contiguous(options["q"]), options["cu_seqlens_q"]
    both = k is not None and options["cu_seqlens_k_new"] is not None
    require(not both, "morph does not serve k_new together with cu_seqlens_k_new")
    lengths = lengths_of(cache_seqlens, len(q) if ends is None else len(ends) - 1, q.device)
    new = {"k_new": k, "v_new": options.pop("v"), "seqused_k": lengths}
    out, lse = OVER_CACHE(fields_of({**options, **new, "q": q}), release=3)
    return (out, lse, lse.new_empty(0), lse.new_empty(0)) if return_softmax_lse else out


@_of_flash_attn_3
def flash_attn_combine(
    out_partial: Tensor, lse_partial: Tensor, out: Tensor | None, out_dtype: torch.dtype | None
) -> tuple[Tensor, Tensor]:
    """Combine attention over parts of the keys.

    ``out_partial`` is float32 of shape (parts, batch, queries, heads, size), or without the dimension of the
    batch, and ``lse_partial`` of shape (parts, batch, queries, heads), likewise.

    Returns:
        The output over all keys, float32 unless ``out_dtype`` is another, and the logarithm of its sums.

    Raises:
        RuntimeError: If the inputs are not float32.
    """
    message = "Attention combine function only support fp32 data type"
    require(out_partial.dtype == lse_partial.dtype == torch.float32, message)
    return combined(out_partial, lse_partial, out, out_dtype or torch.float32)


@_of_flash_attn_3
def get_scheduler_metadata(batch_size: int, cache_seqlens: Tensor, **others: Any) -> Tensor:
    """Return zeros, to be given to :func:`flash_attn_with_kvcache` as ``scheduler_metadata``."""
    return cache_seqlens.new_zeros(batch_size + 1, dtype=torch.int32)


def _general(return_attn_probs: bool, **arguments: Any) -> Any:
    out, lse, *_ = attend("3", fields_of(arguments))
    return (out, lse) if return_attn_probs else out


def _parts(qkv: Tensor, num_heads_q: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return views of queries, keys and values."""
    if qkv.dim() == 5:
        assert qkv.shape[-3] == 3
        q, k, v = qkv.unbind(dim=-3)
        return q, k, v
    assert qkv.dim() == 4
    assert num_heads_q is not None
    num_heads_k = (qkv.shape[2] - num_heads_q) // 2
    assert num_heads_k * 2 + num_heads_q == qkv.shape[2]
    q, k, v = qkv.split([num_heads_q, num_heads_k, num_heads_k], dim=-2)  # type: ignore[no-untyped-call]
    return q, k, v


__all__ = [
    *("USE_TRITON_ROCM", "_backward", "_flash_attn_backward", "_flash_attn_backward_fake"),
    *("_flash_attn_forward", "_flash_attn_forward_fake", "flash_attn_3_gpu"),
    *("flash_attn_combine", "flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func"),
    *("flash_attn_with_kvcache", "get_scheduler_metadata", "maybe_contiguous", "round_multiple"),
    *("round_up_headdim", "setup_context"),
]
