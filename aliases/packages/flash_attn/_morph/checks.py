"""The argument checks of flash_attn 2 and 3, with the same messages."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, int32

from morph.aliases.attention import Request
from morph.aliases.attention.places import FLOAT8
from morph.backends import active

DTYPES = torch.float16, torch.bfloat16

_PAGES_AND_LEFTPAD = "We don't support Paged KV and leftpad_k running at the same time yet"
_ROTARY_WITHOUT_KEYS = (
    "If rotary cos/sin are provided, new key / value to be appended to KV cache must also be provided"
)
_ROOM = (
    "Paged KV cache: max(seqlens_k){} (= {}) exceeds the capacity addressable by block_table "
    "(max_num_blocks_per_seq * page_block_size = {}). Allocate more columns in block_table, otherwise the "
    "kernel would index block_table out of bounds."
)


def require(condition: bool, message: str) -> None:
    """Raise an error unless the condition holds.

    Raises:
        RuntimeError: With the message, unless the condition holds.
    """
    if not condition:
        raise RuntimeError(message)


def refuse_groups(process_group: Any) -> None:
    """Reject a group of processes.

    Raises:
        NotImplementedError: If there is one.
    """
    if process_group is not None:
        reason = "use torch.distributed.tensor.parallel"
        raise NotImplementedError(f"morph does not serve process_group here: {reason}")


def on_device(tensor: Tensor) -> bool:
    """Return whether a tensor is on the device that replaces CUDA."""
    backend = active()
    return backend is None or tensor.device.type == backend.device_type


def require_call(request: Request, direction: str = "forward") -> None:
    """Reject a call of flash_attn 2 for a batch, or for sequences of different lengths."""
    q, k, v, batch = request.query, request.key, request.value, request.batch_size
    _require_inputs(q, k, v)
    _require_heads(batch, q, k, direction)
    multiple = "query, key, value, and out_ must have a head_size that is a multiple of 8"
    multiple = multiple if direction == "forward" else "head_size should be a multiple of 8"
    require(q.shape[-1] % 8 == 0, multiple)
    _require_options(request, batch)
    if request.query_ends is not None:
        _require_sequences(request, batch)
        return
    for name, each in {"k": k, "v": v}.items():
        sizes = {"batch_size": batch, "seqlen_k": k.shape[1], "num_heads_k": k.shape[2]}
        _require_shape(name, each, **sizes, head_size=q.shape[-1])


def require_cache(request: Request) -> None:
    """Reject a call of flash_attn 2 over a cache."""
    q, keys, table = request.query, request.key, request.table
    _require_inputs(q, keys, request.value)
    _require_heads(len(q), q, keys)
    _require_options(request, len(q))
    sizes = {"batch_size_c": keys.shape[0], "seqlen_k": keys.shape[1]}
    if table is not None:
        require(request.rows is None, "Paged KVcache does not support cache_batch_idx")
        _require_table(table, keys.shape[1], len(q))
        sizes = {"num_blocks": keys.shape[0], "page_block_size": keys.shape[1]}
    for name, tensor in {"kcache": keys, "vcache": request.value}.items():
        _require_shape(name, tensor, **sizes, num_heads_k=keys.shape[2], head_size_og=q.shape[3])
    require(request.leftpad is None or table is None, _PAGES_AND_LEFTPAD)
    indices = {"seqlens_k": request.keys_used, "leftpad_k": request.leftpad, "cache_batch_idx": request.rows}
    for name, each in indices.items():
        _require_indices(name, each, batch_size=len(q))
    _require_new(request)
    if table is not None:
        _require_room(request)


def require_output(out: Tensor | None, q: Tensor) -> None:
    """Reject an output tensor that does not match."""
    if out is not None:
        require(out.dtype == q.dtype, "Output must have the same dtype as inputs")
        _require_device(out=out)
        require(out.stride(-1) == 1, "Output tensor must have contiguous last dimension")
        require(out.shape == q.shape, "out must have the shape of q")


def require_gradients(targets: tuple[Tensor | None, ...], inputs: tuple[Tensor, ...]) -> None:
    """Reject tensors for the gradients of queries, keys and values that do not match."""
    for name, gradient, of in zip(("dq", "dk", "dv"), targets, inputs, strict=True):
        if gradient is not None:
            require(gradient.dtype == of.dtype, f"{name} must have the same dtype as q")
            _require_device(**{name: gradient})
            require(gradient.stride(-1) == 1, f"{name} must have contiguous last dimension")
            require(gradient.shape == of.shape, f"{name} must have the shape of {name[1:]}")


def require_upstream(q: Tensor, out: Tensor, dout: Tensor, softmax_lse: Tensor) -> None:
    """Reject an output and its gradient whose dtype, device or strides flash_attn does not accept."""
    for name, tensor in {"out": out, "dout": dout}.items():
        require(tensor.dtype == q.dtype, f"query and {name} must have the same dtype")
        require(tensor.stride(-1) == 1, f"{name} tensor must have contiguous last dimension")
    _require_device(q=q, out=out, dout=dout, softmax_lse=softmax_lse)


def require_shapes_of_queries(q: Tensor, **tensors: Tensor) -> None:
    """Reject tensors that do not have the shape of the queries."""
    names = ("total_q",) if q.dim() == 3 else ("batch_size", "seqlen_q")
    for name, each in tensors.items():
        _require_shape(name, each, **dict(zip((*names, "num_heads", "head_size"), q.shape, strict=True)))


def require_third(request: Request) -> None:
    """Reject a call of flash_attn 3."""
    q, k, v = request.query, request.key, request.value
    dtypes = *DTYPES, FLOAT8
    require(q.dtype in dtypes, "FlashAttention only supports fp16, bf16, and fp8_e4m3 data type")
    require(k.dtype == q.dtype, "query and key must have the same dtype")
    require(v.dtype == q.dtype, "query and value must have the same dtype")
    _require_device(q=q, k=k, v=v, q_descale=request.query_scale)
    _require_device(k_descale=request.key_scale, v_descale=request.value_scale)
    for each in (q, k):
        require(each.stride(-1) == 1, "Input tensor must have contiguous last dimension")
    require(q.shape[-1] <= 256, "FlashAttention forward only supports head dimension at most 256")
    require(v.shape[-1] <= 512, "FlashAttention forward only supports head dimension at most 512")
    _require_groups(q, k)
    require(q.shape[-1] % 8 == 0, "head_size should be a multiple of 8")
    require(v.shape[-1] % 8 == 0, "head_size_v should be a multiple of 8")
    for name, ends in {"cu_seqlens_q": request.query_ends, "cu_seqlens_k": request.key_ends}.items():
        require(ends is None or ends.dtype == int32, f"{name} must have dtype torch.int32")
    no_table = "If cu_seqlens_k is passed in, then page table is not supported"
    require(request.key_ends is None or request.table is None, no_table)
    if request.new_key is None:
        require(request.cos is None, _ROTARY_WITHOUT_KEYS)
        return
    require(request.new_value is not None, "If k_new is supplied, v_new must also be passed in")
    require(request.keys_used is not None, "If k_new is supplied, seqlens_k must also be passed in")
    for name, new in {"k_new": request.new_key, "v_new": request.new_value}.items():
        require(new is None or new.dtype == q.dtype, f"{name} must have the same dtype as query")
    require(request.cos is None or request.sin is not None, _ROTARY_SIN)


_ROTARY_SIN = "If rotary cos is provided, rotary sin must also be provided"


def _require_device(**tensors: Tensor | None) -> None:
    for name, tensor in tensors.items():
        require(tensor is None or on_device(tensor), f"{name} must be on CUDA")


def _require_shape(name: str, tensor: Tensor, **sizes: int) -> None:
    """Reject a tensor whose shape is not ``sizes``, which are named as in the message."""
    require(tuple(tensor.shape) == tuple(sizes.values()), f"{name} must have shape ({', '.join(sizes)})")


def _require_indices(name: str, tensor: Tensor | None, **sizes: int) -> None:
    if tensor is not None:
        _require_device(**{name: tensor})
        require(tensor.dtype == int32, f"{name} must have dtype int32")
        require(tensor.is_contiguous(), f"{name} must be contiguous")
        _require_shape(name, tensor, **sizes)


def _require_inputs(q: Tensor, k: Tensor, v: Tensor) -> None:
    require(q.dtype in DTYPES, "FlashAttention only support fp16 and bf16 data type")
    require(k.dtype == q.dtype, "query and key must have the same dtype")
    require(v.dtype == q.dtype, "query and value must have the same dtype")
    _require_device(q=q, k=k, v=v)
    for each in (q, k, v):
        require(each.stride(-1) == 1, "Input tensor must have contiguous last dimension")


def _require_heads(batch_size: int, q: Tensor, k: Tensor, direction: str = "forward") -> None:
    require(batch_size > 0, "batch size must be positive")
    too_large = f"FlashAttention {direction} only supports head dimension at most 256"
    require(q.shape[-1] <= 256, too_large)
    _require_groups(q, k)


def _require_groups(q: Tensor, k: Tensor) -> None:
    divides = k.shape[-2] > 0 and q.shape[-2] % k.shape[-2] == 0
    require(divides, "Number of heads in key/value must divide number of heads in query")


def _require_options(request: Request, batch_size: int) -> None:
    slopes, heads = request.alibi_slopes, request.query.shape[-2]
    require(request.dropout < 1.0, "Expected p_dropout < 1.f to be true, but got false.")
    no_dropout = "Softcapping does not support dropout for now"
    require(request.softcap <= 0 or request.dropout == 0, no_dropout)
    if slopes is not None:
        require(slopes.dtype == torch.float32, "ALiBi slopes must have dtype fp32")
        _require_device(alibi_slopes=slopes)
        require(slopes.stride(-1) == 1, "ALiBi slopes tensor must have contiguous last dimension")
        require(
            tuple(slopes.shape) in ((heads,), (batch_size, heads)),
            "Expected alibi_slopes.sizes() to be ({num_heads}) or ({batch_size, num_heads}), but got "
            f"{tuple(slopes.shape)}.",
        )


def _require_sequences(request: Request, batch: int) -> None:
    q, k, v = request.query, request.key, request.value
    for name, ends in {"cu_seqlens_q": request.query_ends, "cu_seqlens_k": request.key_ends}.items():
        _require_indices(name, ends, **{"batch_size + 1": batch + 1})
    _require_indices("seqused_k", request.keys_used, batch_size=batch)
    _require_indices("leftpad_k", request.leftpad, batch_size=batch)
    if request.table is not None:
        _require_table(request.table, k.shape[1], batch)
        require(request.leftpad is None, _PAGES_AND_LEFTPAD)
        return
    for name, tensor in {"k": k, "v": v}.items():
        sizes = {"total_k": len(k), "num_heads_k": k.shape[-2], "head_size": q.shape[-1]}
        _require_shape(name, tensor, **sizes)


def _require_table(block_table: Tensor, page_size: int, batch_size: int) -> None:
    _require_device(block_table=block_table)
    require(block_table.dtype == int32, "block_table must have dtype torch.int32")
    require(block_table.stride(-1) == 1, "block_table must have contiguous last dimension")
    require(page_size % 256 == 0, "Paged KV cache block size must be divisible by 256")
    sizes = {"batch_size": batch_size, "max_num_blocks_per_seq": block_table.shape[1]}
    _require_shape("block_table", block_table, **sizes)


def _require_new(request: Request) -> None:
    q, k, v, capacity = request.query, request.new_key, request.new_value, request.capacity
    if k is None:
        require(request.cos is None, _ROTARY_WITHOUT_KEYS)
        return
    require(v is not None, "If key is supplied, value must also be passed in")
    require(request.keys_used is not None, "If key is supplied, seqlens_k must also be passed in")
    message = "If key is supplied, it must have seqlen <= the seqlen of the KV cache"
    require(q.shape[1] <= capacity, message)
    sizes = {"batch_size": len(q), "seqlen_knew": k.shape[1], "num_heads_k": request.key.shape[2]}
    for name, word, tensor in (("k", "Key", k), ("v", "Value", v)):
        assert tensor is not None
        require(tensor.dtype == q.dtype, f"{word} must have the same dtype as query")
        _require_device(**{name: tensor})
        require(tensor.stride(-1) == 1, f"{word} tensor must have contiguous last dimension")
        _require_shape(name, tensor, **sizes, head_size_og=q.shape[3])
    if request.cos is not None:
        _require_rotary(q, request.cos, request.sin, capacity)


def _require_rotary(q: Tensor, cos: Tensor, sin: Tensor | None, capacity: int) -> None:
    rotary_dim = cos.shape[1] * 2
    require(rotary_dim <= q.shape[3], "rotary_dim must be <= headdim")
    require(rotary_dim % 16 == 0, "Only rotary dimensions divisible by 16 are currently supported")
    require(cos.shape[0] >= capacity, "cos/sin seqlen must be at least the seqlen of KV cache")
    require(sin is not None, _ROTARY_SIN)
    for name, each in {"rotary_cos": cos, "rotary_sin": sin}.items():
        assert each is not None
        _require_device(**{name: each})
        _require_shape(name, each, **{"seqlen_ro": cos.shape[0], "params.rotary_dim / 2": rotary_dim // 2})
        require(each.is_contiguous(), f"{name} must be contiguous")
        require(each.dtype == q.dtype, "rotary_cos must have the same dtype as query")


def _require_room(request: Request) -> None:
    """Reject lengths past the last page, for which the table has no entry."""
    added = 0 if request.new_key is None else request.new_key.shape[1]
    longest = request.capacity if request.keys_used is None else added + int(request.keys_used.max())
    message = _ROOM.format(" + seqlen_knew" if added else "", longest, request.capacity)
    require(longest <= request.capacity, message)
