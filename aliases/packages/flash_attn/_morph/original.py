"""The signatures of flash_attn's functions, with annotations and what the parameters mean."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from morph.aliases.recorded import Recording

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

_WITHOUT_EFFECT = "without effect on the result."
MEANINGS = {
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
    "dropout_p": "the probability that a weight is dropped; 0 for evaluation.",
    "softmax_scale": "the factor of the query-key products; None for 1 / sqrt(head size).",
    "causal": "whether a query sees no key after its own position; queries and keys end at the same one.",
    "window_size": "how many keys before and after its own position a query sees; negative or None for all.",
    "softcap": "scores are squeezed to between ``-softcap`` and ``softcap``, unless it is 0.",
    "alibi_slopes": (
        "float32 of shape (heads,) or (batch, heads): the score of a key falls by this much with every "
        "position between it and the query."
    ),
    "attention_chunk": "queries only see keys in their own chunk of this many positions, unless it is 0.",
    "learnable_sink": "of shape (heads,): the score of one more key of each head, whose value is 0.",
    "cu_seqlens": "int32 of shape (batch + 1,): where each sequence begins, and the last one ends.",
    "cu_seqlens_q": (
        "int32 of shape (batch + 1,): where the queries of each sequence begin, and the last ones end."
    ),
    "cu_seqlens_k": "likewise for the keys.",
    "max_seqlen_q": "the largest number of queries in a sequence.",
    "max_seqlen_k": "the largest number of keys in a sequence.",
    "seqused_q": "int32 of shape (batch,): how many queries of each sequence are used.",
    "seqused_k": "likewise for the keys.",
    "cache_seqlens": "how many tokens each sequence has in the cache: a number, or int32 of shape (batch,).",
    "cache_batch_idx": "int32 of shape (batch,): which of the cached sequences each is.",
    "cache_leftpad": "int32 of shape (batch,): where in the cache each sequence begins.",
    "block_table": "int32 of shape (batch, most pages of a sequence): the pages of each sequence, in order.",
    "page_table": "int32 of shape (batch, most pages of a sequence): the pages of each sequence, in order.",
    "rotary_cos": "cosines of shape (positions, rotary size / 2), by which queries and new keys are rotated.",
    "rotary_sin": "sines of the same shape.",
    "rotary_interleaved": "whether neighbours are rotated with each other, or one half with the other.",
    "rotary_seqlens": "int32 of shape (batch,): the first new position; None for ``cache_seqlens``.",
    "q_descale": "float32 of shape (batch, key heads): the factor of 8-bit queries.",
    "k_descale": "likewise for the keys.",
    "v_descale": "likewise for the values.",
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
