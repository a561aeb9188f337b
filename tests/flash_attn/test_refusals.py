"""Arguments that flash_attn rejects raise its own error messages."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.later import Later

flash_attn_interface = Later("flash_attn_interface")
flash_attn_func = Later("flash_attn", "flash_attn_func")
flash_attn_varlen_func = Later("flash_attn", "flash_attn_varlen_func")
flash_attn_with_kvcache = Later("flash_attn", "flash_attn_with_kvcache")


def tensor(*shape: int, dtype: torch.dtype = torch.float16) -> Tensor:
    return torch.zeros(*shape, dtype=dtype, device="cuda")


def good() -> dict[str, Any]:
    return {"q": tensor(2, 4, 4, 32), "k": tensor(2, 6, 2, 32), "v": tensor(2, 6, 2, 32)}


DENSE: dict[str, dict[str, Any]] = {
    "FlashAttention only support fp16 and bf16 data type": {"q": (2, 4, 4, 32, torch.float32)},
    "query and key must have the same dtype": {"k": (2, 6, 2, 32, torch.bfloat16)},
    "query and value must have the same dtype": {"v": (2, 6, 2, 32, torch.float32)},
    "Number of heads in key/value must divide number of heads in query": {"k": (2, 6, 3, 32)},
    "batch size must be positive": {"q": (0, 4, 4, 32), "k": (0, 6, 2, 32), "v": (0, 6, 2, 32)},
    "k must have shape (batch_size, seqlen_k, num_heads_k, head_size)": {"k": (2, 6, 2, 40)},
    "v must have shape (batch_size, seqlen_k, num_heads_k, head_size)": {"v": (2, 5, 2, 32)},
    "FlashAttention forward only supports head dimension at most 256": {
        "q": (2, 4, 4, 264),
        "k": (2, 6, 2, 264),
        "v": (2, 6, 2, 264),
    },
    "Softcapping does not support dropout for now": {"softcap": 1.0, "dropout_p": 0.1},
    "ALiBi slopes must have dtype fp32": {"alibi_slopes": (4, torch.float16)},
    "Expected alibi_slopes.sizes()": {"alibi_slopes": (3, torch.float32)},
    "Expected p_dropout < 1.f to be true": {"dropout_p": 1.0},
}


@pytest.mark.parametrize("message", DENSE)
def test_dense(message):
    arguments = good()
    for name, value in DENSE[message].items():
        if isinstance(value, tuple):
            dtype = value[-1] if isinstance(value[-1], torch.dtype) else torch.float16
            value = tensor(*(each for each in value if isinstance(each, int)), dtype=dtype)
        arguments[name] = value
    with pytest.raises(RuntimeError, match=re.escape(message)):
        flash_attn_func(**arguments)


def test_lengths_and_pages():
    q, k, table = tensor(9, 4, 32), tensor(9, 2, 32), torch.zeros(2, 1, dtype=torch.int32, device="cuda")
    cu = torch.tensor([0, 4, 9], dtype=torch.int32, device="cuda")
    refused = {
        "cu_seqlens_q must have dtype int32": ((q, k, k, cu.long(), cu, 5, 5), {}),
        "cu_seqlens_k must have shape (batch_size + 1)": ((q, k, k, cu, cu[:2], 5, 5), {}),
        "v must have shape (total_k, num_heads_k, head_size)": ((q, k, k[:5], cu, cu, 5, 5), {}),
        "Paged KV cache block size must be divisible by 256": (
            (q, tensor(3, 16, 2, 32), tensor(3, 16, 2, 32), cu, cu, 5, 5),
            {"block_table": table},
        ),
        "block_table must have dtype torch.int32": (
            (q, tensor(3, 256, 2, 32), tensor(3, 256, 2, 32), cu, cu, 5, 5),
            {"block_table": table.long()},
        ),
    }
    for message, (arguments, options) in refused.items():
        with pytest.raises(RuntimeError, match=re.escape(message)):
            flash_attn_varlen_func(*arguments, **options)


def rotary(length: int, size: int) -> dict[str, Tensor]:
    return {"rotary_cos": tensor(length, size), "rotary_sin": tensor(length, size)}


def test_caches():
    q, cache, new = tensor(2, 1, 4, 32), tensor(2, 16, 2, 32), tensor(2, 1, 2, 32)
    table = torch.zeros(2, 1, dtype=torch.int32, device="cuda")
    pages = tensor(1, 256, 2, 32)
    both, at_3 = {"k": new, "v": new}, {"k": new, "v": new, "cache_seqlens": 3}
    paged = {"k_cache": pages, "v_cache": pages, "block_table": table}
    refused: dict[str, dict[str, Any]] = {
        "If key is supplied, value must also be passed in": {"k": new, "cache_seqlens": 3},
        "If key is supplied, seqlens_k must also be passed in": both,
        "If rotary cos/sin are provided, new key / value": rotary(16, 8),
        "Only rotary dimensions divisible by 16 are currently supported": at_3 | rotary(16, 4),
        "cos/sin seqlen must be at least the seqlen of KV cache": at_3 | rotary(9, 8),
        "seqlens_k must have dtype int32": {"cache_seqlens": torch.ones(2, device="cuda").long()},
        "Paged KVcache does not support cache_batch_idx": {
            **paged,
            "cache_batch_idx": table[:, 0].contiguous(),
        },
        "exceeds the capacity addressable by block_table": {**paged, "cache_seqlens": 257},
    }
    for message, options in refused.items():
        with pytest.raises(RuntimeError, match=re.escape(message)):
            flash_attn_with_kvcache(**{"q": q, "k_cache": cache, "v_cache": cache, **options})


@pytest.mark.platforms("npu", "simulated-xpu")
def test_a_host_tensor():
    arguments = {name: value.cpu() for name, value in good().items()}
    with pytest.raises(RuntimeError, match="q must be on CUDA"):
        flash_attn_func(**arguments)


def test_what_nobody_serves():
    q, k = tensor(2, 4, 4, 32), tensor(2, 6, 2, 32)
    with pytest.raises(RuntimeError, match="morph does not serve k_new together with cu_seqlens_k_new"):
        flash_attn_interface.flash_attn_with_kvcache(q, k, k, k, k, cu_seqlens_k_new=torch.zeros(3))
