"""What the parameters of flash_attn's functions and operators are called in a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from morph.aliases.attention.request import FIELDS

_NAMES = {
    "query": "q",
    "key": "k k_cache",
    "value": "v v_cache",
    "scale": "softmax_scale",
    "causal": "is_causal",
    "left": "window_size_left",
    "right": "window_size_right",
    "dropout": "dropout_p",
    "chunk": "attention_chunk",
    "sink": "learnable_sink",
    "query_value": "qv",
    "query_scale": "q_descale",
    "key_scale": "k_descale",
    "value_scale": "v_descale",
    "query_ends": "cu_seqlens_q",
    "key_ends": "cu_seqlens_k",
    "max_queries": "max_seqlen_q",
    "max_keys": "max_seqlen_k",
    "queries_used": "seqused_q sequed_q",  # the second is flash_attn 3's spelling in its backward operator
    "keys_used": "seqused_k sequed_k cache_seqlens",
    "leftpad": "leftpad_k cache_leftpad",
    "rows": "kv_batch_idx cache_batch_idx",
    "table": "page_table block_table",
    "new_key": "k_new",
    "new_value": "v_new",
    "cos": "rotary_cos",
    "sin": "rotary_sin",
    "first_positions": "seqlens_rotary rotary_seqlens",
    "interleaved": "rotary_interleaved is_rotary_interleaved",
}
_OF = {name: field for field, names in _NAMES.items() for name in names.split()}
FIELD_OF = {**{name: name for name in FIELDS}, **_OF}
"""The field of a request for each parameter."""


def fields_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that a request has, by the names of its fields."""
    fields = {FIELD_OF[name]: value for name, value in arguments.items() if name in FIELD_OF}
    if "window_size" in arguments:
        fields["left"], fields["right"] = arguments["window_size"]
    return fields


def arguments_of(parameters: tuple[str, ...], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that an operator with these parameters takes, by the names of its parameters."""
    pairs = [(name, _OF.get(name, name)) for name in parameters]
    return {name: fields[field] for name, field in pairs if field in fields}
