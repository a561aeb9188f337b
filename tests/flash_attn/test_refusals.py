"""Arguments that flash_attn rejects raise its own error messages."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.flash_attn.reference import integers
from tests.later import Later

cute = Later("flash_attn.cute")
cute_interface = Later("flash_attn.cute.interface")
flash_attn_interface = Later("flash_attn_interface")
flash_attn_func = Later("flash_attn", "flash_attn_func")
flash_attn_varlen_func = Later("flash_attn", "flash_attn_varlen_func")
flash_attn_with_kvcache = Later("flash_attn", "flash_attn_with_kvcache")


def tensor(*shape: int, dtype: torch.dtype = torch.float16) -> Tensor:
    return torch.zeros(*shape, dtype=dtype, device="cuda")


def check_refusals(
    function: Callable[..., Any], good: dict[str, Any], refused: dict[str, dict[str, Any]], error: Any
) -> None:
    """Checks what is said where some of the arguments of a call are replaced, by what is said."""
    for message, changed in refused.items():
        with pytest.raises(error, match=re.escape(message)):
            function(**{**good, **changed})


def batches() -> dict[str, Tensor]:
    return {"q": tensor(2, 4, 4, 32), "k": tensor(2, 6, 2, 32), "v": tensor(2, 6, 2, 32)}


def test_sequences_of_one_length():
    good = batches()
    refused: dict[str, dict[str, Any]] = {
        "FlashAttention only support fp16 and bf16 data type": {"q": good["q"].float()},
        "query and key must have the same dtype": {"k": good["k"].bfloat16()},
        "query and value must have the same dtype": {"v": good["v"].float()},
        "Number of heads in key/value must divide number of heads in query": {"k": tensor(2, 6, 3, 32)},
        "batch size must be positive": {name: each[:0] for name, each in good.items()},
        "k must have shape (batch_size, seqlen_k, num_heads_k, head_size)": {"k": tensor(2, 6, 2, 40)},
        "v must have shape (batch_size, seqlen_k, num_heads_k, head_size)": {"v": tensor(2, 5, 2, 32)},
        "FlashAttention forward only supports head dimension at most 256": {
            name: tensor(*each.shape[:3], 264) for name, each in good.items()
        },
        "Softcapping does not support dropout for now": {"softcap": 1.0, "dropout_p": 0.1},
        "ALiBi slopes must have dtype fp32": {"alibi_slopes": tensor(4)},
        "Expected alibi_slopes.sizes()": {"alibi_slopes": tensor(3, dtype=torch.float32)},
        "Expected p_dropout < 1.f to be true": {"dropout_p": 1.0},
    }
    check_refusals(flash_attn_func, good, refused, RuntimeError)


def test_lengths_and_pages():
    q, k, cu, table = tensor(9, 4, 32), tensor(9, 2, 32), integers(0, 4, 9), integers([0], [0])
    bounds = {"cu_seqlens_q": cu, "cu_seqlens_k": cu, "max_seqlen_q": 5, "max_seqlen_k": 5}
    small, pages = tensor(3, 16, 2, 32), tensor(3, 256, 2, 32)
    refused: dict[str, dict[str, Any]] = {
        "cu_seqlens_q must have dtype int32": {"cu_seqlens_q": cu.long()},
        "cu_seqlens_k must have shape (batch_size + 1)": {"cu_seqlens_k": cu[:2]},
        "v must have shape (total_k, num_heads_k, head_size)": {"v": k[:5]},
        "Paged KV cache block size must be divisible by 256": {"k": small, "v": small, "block_table": table},
        "block_table must have dtype torch.int32": {"k": pages, "v": pages, "block_table": table.long()},
    }
    check_refusals(flash_attn_varlen_func, {"q": q, "k": k, "v": k, **bounds}, refused, RuntimeError)


def rotary(length: int, size: int) -> dict[str, Tensor]:
    return {"rotary_cos": tensor(length, size), "rotary_sin": tensor(length, size)}


def test_caches():
    cache, new, table, pages = (
        tensor(2, 16, 2, 32),
        tensor(2, 1, 2, 32),
        integers([0], [0]),
        tensor(1, 256, 2, 32),
    )
    both, at_3 = {"k": new, "v": new}, {"k": new, "v": new, "cache_seqlens": 3}
    paged = {"k_cache": pages, "v_cache": pages, "block_table": table}
    refused: dict[str, dict[str, Any]] = {
        "If key is supplied, value must also be passed in": {"k": new, "cache_seqlens": 3},
        "If key is supplied, seqlens_k must also be passed in": both,
        "If rotary cos/sin are provided, new key / value": rotary(16, 8),
        "Only rotary dimensions divisible by 16 are currently supported": at_3 | rotary(16, 4),
        "cos/sin seqlen must be at least the seqlen of KV cache": at_3 | rotary(9, 8),
        "seqlens_k must have dtype int32": {"cache_seqlens": integers(1, 1).long()},
        "Paged KVcache does not support cache_batch_idx": {**paged, "cache_batch_idx": integers(0, 0)},
        "exceeds the capacity addressable by block_table": {**paged, "cache_seqlens": 257},
    }
    good = {"q": tensor(2, 1, 4, 32), "k_cache": cache, "v_cache": cache}
    check_refusals(flash_attn_with_kvcache, good, refused, RuntimeError)


def test_sequences_of_flash_attn_4():
    good = batches()
    refused: dict[str, dict[str, Any]] = {
        "inputs must be float16, bfloat16, fp8": {name: each.float() for name, each in good.items()},
        "q, k, v, and qv must have the same dtype": {"q": good["q"].bfloat16()},
        "num_head must be divisible by num_head_kv": {"q": tensor(2, 4, 3, 32)},
        "cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k must be int32": {
            "seqused_k": integers(3, 4).long()
        },
        "seqused_q must have shape (batch_size,)": {"seqused_q": integers(3)},
        "page_table is not supported with cu_seqlens_k": {
            "cu_seqlens_k": integers(0, 1, 2),
            "page_table": integers([0], [1]),
        },
        "learnable_sink must be float16": {"learnable_sink": integers(0, 0, 0, 0).long()},
    }
    check_refusals(cute.flash_attn_varlen_func, good, refused, AssertionError)
    for name in ("qv", "gather_kv_indices", "score_mod", "mask_mod", "block_sparse_tensors"):
        with pytest.raises(NotImplementedError, match=f"morph does not serve {name}, "):
            cute.flash_attn_func(**good, **{name: good["q"]})
    with pytest.raises(AssertionError, match=r"\(192, 192\) is not supported on SM100/SM110"):
        cute_interface._validate_head_dims(192, 192, 10, 8)
    cute_interface._validate_head_dims(192, 128, 10, 8)


@pytest.mark.platforms("npu", "simulated-xpu")
def test_a_host_tensor():
    arguments = {name: value.cpu() for name, value in batches().items()}
    with pytest.raises(RuntimeError, match="q must be on CUDA"):
        flash_attn_func(**arguments)


def test_what_nobody_serves():
    q, k = tensor(2, 4, 4, 32), tensor(2, 6, 2, 32)
    with pytest.raises(RuntimeError, match="morph does not serve k_new together with cu_seqlens_k_new"):
        flash_attn_interface.flash_attn_with_kvcache(q, k, k, k, k, cu_seqlens_k_new=torch.zeros(3))
