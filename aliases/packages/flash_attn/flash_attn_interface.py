"""The functions of flash_attn 2."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import flash_attn_2_cuda as flash_attn_gpu  # noqa: F401 (a name of the original)
import torch
from torch import Tensor
from torch.nn import functional

from morph.aliases.attention.weights import block_size

from ._morph import second
from ._morph.caching import OVER_CACHE, lengths_of
from ._morph.differentiable import PAIRS, Pair, attend, contiguous, pair
from ._morph.direct import attend as attend_directly
from ._morph.fields import fields_of
from ._morph.original import recorded, signature_of
from ._morph.second import Four

USE_TRITON_ROCM = os.getenv("FLASH_ATTENTION_TRITON_AMD_ENABLE", "FALSE") == "TRUE"

_torch_custom_op_wrapper = torch.library.custom_op
_torch_register_fake_wrapper = torch.library.register_fake
_CONTIGUOUS = "q", "k_new", "v_new", "seqused_k", "cache_batch_idx", "block_table"
_of_flash_attn_2 = recorded(__name__)


@_of_flash_attn_2
def round_multiple(x: int, m: int) -> int:
    """Return the next multiple of ``m``."""
    return (x + m - 1) // m * m


@_of_flash_attn_2
def maybe_contiguous(x: Tensor | None) -> Tensor | None:
    """Return ``x``, copied if its last dimension is not contiguous."""
    return x.contiguous() if x is not None and x.stride(-1) != 1 else x


@_of_flash_attn_2
def _get_block_size_n(device: torch.device, head_dim: int, is_dropout: bool, is_causal: bool) -> int:
    """Return how many keys share a largest score in the results of ``return_attn_probs``."""
    return block_size(device, head_dim, is_dropout, is_causal)


def _sums(fields: Mapping[str, Any], others: Mapping[str, Any]) -> Tensor:
    return second.backward(fields, others)[3]


def _pair(start: str) -> Pair:
    """Make the operators for the output and the gradients: of a batch, or within each sequence."""
    signatures = [signature_of(f"{__name__}.{start}_{way}") for way in ("forward", "backward")]
    halves = (second.forward, second.attended), (_sums, second.differentiated)
    return pair(f"flash_attn::{start}", signatures, Four, *halves)


PAIRS["2"], PAIRS["2 varlen"] = _batch, _varlen = _pair("_flash_attn"), _pair("_flash_attn_varlen")
_flash_attn_forward, _flash_attn_forward_fake = _batch.forward.custom, _batch.forward.fake
_flash_attn_backward, _flash_attn_backward_fake = _batch.backward.custom, _batch.backward.fake
_flash_attn_varlen_forward, _flash_attn_varlen_forward_fake = _varlen.forward.custom, _varlen.forward.fake
_flash_attn_varlen_backward, _flash_attn_varlen_backward_fake = _varlen.backward.custom, _varlen.backward.fake
_wrapped_flash_attn_forward = torch.ops.flash_attn._flash_attn_forward
_wrapped_flash_attn_varlen_forward = torch.ops.flash_attn._flash_attn_varlen_forward
_wrapped_flash_attn_backward = torch.ops.flash_attn._flash_attn_backward
_wrapped_flash_attn_varlen_backward = torch.ops.flash_attn._flash_attn_varlen_backward


@_of_flash_attn_2
def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Any:
    """Compute attention for a batch of sequences of one length, differentiably.

    Queries and keys end at the same position: of 2 queries and 5 keys, the first query is at the fourth key.

    Returns:
        The output, of the shape of ``q``, 0 for a query that sees no key. With ``return_attn_probs`` also the
        logarithm of the sums, float32 of shape (batch, heads, queries), infinity where no key is seen; and,
        if ``dropout_p`` is not 0, the weights, of shape (batch, heads, queries, keys) padded to multiples
        of 128 and negative where dropped, else an empty tensor. They are not divided by their sum, and
        relative to the largest score of their block of ``_get_block_size_n`` keys and the blocks after it.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    return _dense(q, k, v, **options)


@_of_flash_attn_2
def flash_attn_kvpacked_func(q: Tensor, kv: Tensor, **options: Any) -> Any:
    """Compute attention as :func:`flash_attn_func`; ``kv`` is (batch, keys, 2, key heads, head size)."""
    k, v = kv.unbind(2)
    return _dense(q, k, v, **options)


@_of_flash_attn_2
def flash_attn_qkvpacked_func(qkv: Tensor, **options: Any) -> Any:
    """Compute attention as :func:`flash_attn_func`; ``qkv`` is (batch, tokens, 3, heads, head size)."""
    q, k, v = qkv.unbind(2)
    return _dense(q, k, v, **options)


@_of_flash_attn_2
def flash_attn_varlen_func(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Any:
    """Compute attention within sequences of several lengths, as :func:`flash_attn_func` does.

    ``q`` is of shape (all queries, heads, head size), ``k`` and ``v`` are of shape (all keys, key heads, head
    size), or with a ``block_table`` of shape (pages, tokens of a page, key heads, head size). The logarithm
    of the sums is of shape (heads, all queries).
    """
    return _general("2 varlen", q, k, v, **options)


@_of_flash_attn_2
def flash_attn_varlen_kvpacked_func(q: Tensor, kv: Tensor, **options: Any) -> Any:
    """Compute attention as :func:`flash_attn_varlen_func`; ``kv`` is (all keys, 2, key heads, head size)."""
    k, v = kv.unbind(1)
    return _general("2 varlen", q, k, v, **options)


@_of_flash_attn_2
def flash_attn_varlen_qkvpacked_func(qkv: Tensor, cu_seqlens: Tensor, max_seqlen: int, **options: Any) -> Any:
    """Compute attention as :func:`flash_attn_varlen_func`; ``qkv`` is (all tokens, 3, heads, head size)."""
    q, k, v = qkv.unbind(1)
    options |= {"cu_seqlens_q": cu_seqlens, "cu_seqlens_k": cu_seqlens}
    options |= {"max_seqlen_q": max_seqlen, "max_seqlen_k": max_seqlen}
    return _general("2 varlen", q, k, v, **options)


@_of_flash_attn_2
def flash_attn_with_kvcache(return_softmax_lse: bool, cache_seqlens: Any, **options: Any) -> Any:
    """Compute attention over a cache of keys and values, to which ``k`` and ``v`` are added in place first.

    There is no backward pass. A page of the cache has a multiple of 256 tokens. New keys are rotated at their
    positions; so are queries with a mask, and without one all of them at the first new position.

    Returns:
        The output, of the shape of ``q``; with ``return_softmax_lse`` also the logarithm of the sums,
        float32 of shape (batch, heads, queries), infinity where no key is seen.

    Raises:
        RuntimeError: If flash_attn does not accept the arguments.
    """
    for name in ("k_cache", "v_cache"):
        assert options[name].stride(-1) == 1, f"{name} must have contiguous last dimension"
    q, causal = options["q"], options["causal"]
    causal = causal and (q.shape[1] > 1 or options["alibi_slopes"] is not None)
    lengths = lengths_of(cache_seqlens, len(q), q.device)
    options |= {"k_new": options.pop("k"), "v_new": options.pop("v"), "seqused_k": lengths, "causal": causal}
    for name in _CONTIGUOUS:
        if options[name] is not None:
            options[name] = contiguous(options[name])
    out, lse = OVER_CACHE(fields_of(options), release=2)
    return (out, lse) if return_softmax_lse else out


def _dense(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Any:
    """Compute attention with a device kernel that accepts the tensors unchanged, or with the operators."""
    plain = options["window_size"] == (-1, -1) and options["alibi_slopes"] is None
    if plain and not any(options[name] for name in ("return_attn_probs", "dropout_p", "softcap")):
        out = attend_directly(q, k, v, options["softmax_scale"], options["causal"])
        if out is not None:
            return out
    return _general("2", q, k, v, **options)


def _general(release: str, q: Tensor, k: Tensor, v: Tensor, return_attn_probs: bool, **options: Any) -> Any:
    head_size, wanted = q.shape[-1], return_attn_probs and options["dropout_p"] > 0
    scale = options.pop("softmax_scale")
    inputs = {name: _padded(each) for name, each in (("q", q), ("k", k), ("v", v))}
    fields = fields_of({**inputs, **options, "softmax_scale": head_size**-0.5 if scale is None else scale})
    out, lse, weights, _ = attend(release, fields, return_softmax=wanted)
    out = out[..., :head_size]
    return (out, lse, weights) if return_attn_probs else out


def _padded(tensor: Tensor) -> Tensor:
    """Return a tensor with contiguous heads, padded with zeros to a size that the operators accept."""
    missing = -tensor.shape[-1] % 8
    tensor = contiguous(tensor)
    return functional.pad(tensor, [0, missing]) if missing else tensor
