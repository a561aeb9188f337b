"""The signatures of flash_attn's functions, with annotations and what the parameters mean."""

from __future__ import annotations

import inspect
import re
from typing import Optional

import torch
from torch import Tensor

from morph.aliases.attention import Request
from morph.aliases.recorded import Recording

from .fields import FIELD_OF

_NAMES = {
    float: "dropout_p softmax_scale softcap eps epsilon label_smoothing logit_scale lse_square_scale",
    int: (
        "window_size_left window_size_right attention_chunk max_seqlen max_seqlen_q max_seqlen_k "
        "min_seqlen_k num_splits sm_margin ignore_index batch seqlen num_heads_q release m head_size "
        "batch_size num_heads num_heads_k headdim headdim_v page_size max_seqlen_k_new"
    ),
    bool: (
        "causal is_causal return_softmax deterministic zero_tensors interleaved rotary_interleaved inplace "
        "conjugate pack_gqa return_attn_probs return_lse return_softmax_lse prenorm residual_in_fp32 "
        "is_rms_norm is_rotary_interleaved inplace_backward has_softcap"
    ),
    Tensor: (
        "q k v kv qkv out dout dlse softmax_lse k_cache v_cache k_new v_new qv q_v out_ cu_seqlens "
        "cu_seqlens_q cu_seqlens_k cu_seqlens_k_new seqused_q seqused_k sequed_q sequed_k page_table "
        "block_table kv_batch_idx cache_batch_idx leftpad_k cache_leftpad rotary_cos rotary_sin "
        "seqlens_rotary rotary_seqlens q_descale k_descale v_descale scheduler_metadata rng_state "
        "learnable_sink cos sin cos_k sin_k weight weight0 residual x0 logits labels precomputed_lse "
        "hidden_states attention_mask unused_mask indices out_partial lse_partial"
    ),
    Optional[Tensor]: "alibi_slopes dq dk dv bias bias0 weight1 bias1 x1",  # noqa: UP045
    tuple[int, int]: "window_size",
    int | Tensor: "cache_seqlens seqlen_offsets",
    torch.dtype: "out_dtype qkv_dtype",
}
TYPES = {name: kind for kind, names in _NAMES.items() for name in names.split()}

_OF_REQUESTS = (
    "softmax_scale causal softcap alibi_slopes dropout_p attention_chunk learnable_sink cu_seqlens_q "
    "cu_seqlens_k max_seqlen_q max_seqlen_k seqused_q seqused_k block_table page_table rotary_cos rotary_sin "
    "rotary_interleaved q_descale k_descale v_descale"
)


def _of_fields() -> dict[str, str]:
    """Return what the fields of a request mean, from its docstring."""
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", inspect.getdoc(Request) or "", re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


_WITHOUT_EFFECT = "without effect on the result."
_FIELDS = _of_fields()
MEANINGS = {
    **{name: _FIELDS[FIELD_OF[name]] for name in _OF_REQUESTS.split() if _FIELDS},
    "q": "queries of shape (batch, queries, heads, head size), or (all queries, heads, head size).",
    "k": (
        "keys of shape (batch, keys, key heads, head size), or (all keys, key heads, head size); the key "
        "heads divide the heads. With a cache, new ones."
    ),
    "v": "values, of the shape of ``k`` except for the last dimension.",
    "kv": "keys and values, in a dimension of 2 before the heads.",
    "qkv": "queries, keys and values, in a dimension of 3 before the heads.",
    "qv": "queries whose products with the values are added to the scores.",
    "k_cache": "cached keys, (sequences, tokens, key heads, head size) or (pages, tokens of a page, ...).",
    "v_cache": "cached values, of the shape of ``k_cache`` except for the last dimension.",
    "window_size": "how many keys before and after its own position a query sees; negative or None for all.",
    "cu_seqlens": "int32 of shape (batch + 1,): where each sequence begins, and the last one ends.",
    "cache_seqlens": "how many tokens each sequence has in the cache: a number, or int32 of shape (batch,).",
    "cache_batch_idx": "int32 of shape (batch,): which of the cached sequences each is.",
    "cache_leftpad": "int32 of shape (batch,): where in the cache each sequence begins.",
    "rotary_seqlens": "int32 of shape (batch,): the first new position; None for ``cache_seqlens``.",
    "cos": "cosines of shape (positions, rotary size / 2).",
    "sin": "sines of the same shape.",
    "interleaved": "whether neighbours are rotated with each other (GPT-J), or one half with the other.",
    "inplace": "whether the tensor itself is rotated.",
    "seqlen_offsets": "the position of the first token; as a tensor of shape (batch,), of each sequence.",
    "deterministic": "without effect: the gradients always are.",
    "return_attn_probs": "whether the logarithm of the softmax's sums, and the weights, are also returned.",
    "return_softmax_lse": "whether the logarithm of the softmax's sums is also returned.",
    "return_lse": "whether to return the logarithm of the softmax's sums, which then has gradients.",
    **dict.fromkeys(("num_splits", "pack_gqa", "sm_margin", "scheduler_metadata"), _WITHOUT_EFFECT),
}

_RECORDING = Recording("flash_attn", TYPES, MEANINGS)
written, signature_of = _RECORDING.written, _RECORDING.signature
recorded, initializer = _RECORDING.functions, _RECORDING.initializers
