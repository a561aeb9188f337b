"""Attention modules, with and without caches."""

import itertools
import pickle
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.flash_attn.reference import detached, distance
from tests.later import Later, later

RotaryEmbedding = Later("flash_attn.layers.rotary", "RotaryEmbedding")
CrossEntropyLoss = Later("flash_attn.losses.cross_entropy", "CrossEntropyLoss")
MHA, get_alibi_slopes = later("flash_attn.modules.mha", "MHA", "get_alibi_slopes")
RMSNorm = Later("flash_attn.ops.rms_norm", "RMSNorm")


def test_attention_with_and_without_flash_attn():
    (x,) = detached(0, (2, 10, 64), dtype=torch.bfloat16)
    cases: tuple[dict[str, Any], ...] = (
        {},
        {"causal": True},
        {"num_heads_kv": 2, "causal": True},
        {"rotary_emb_dim": 16, "causal": True, "num_heads_kv": 1},
        {"rotary_emb_dim": 8, "rotary_emb_interleaved": True},
        {"cross_attn": True, "causal": True},
        {"checkpointing": True},
    )
    for options in cases:
        torch.manual_seed(0)
        shared = {"device": "cuda", "dtype": torch.bfloat16, **options}
        flash, plain = MHA(64, 4, use_flash_attn=True, **shared), MHA(64, 4, **shared)
        plain.load_state_dict(flash.state_dict())
        assert distance(flash(x), plain(x)) < 0.02, options
    with pytest.raises(NotImplementedError, match="does not serve dwconv"):
        MHA(64, 4, dwconv=True)


def test_alibi_windows_and_sequences():
    assert get_alibi_slopes(8) == [2.0**-n for n in range(1, 9)]
    assert len(get_alibi_slopes(6)) == 6
    shared = {"use_flash_attn": True, "device": "cuda", "dtype": torch.bfloat16, "causal": True}
    layer = MHA(64, 4, use_alibi=True, window_size=(3, 0), **shared)
    (x,) = detached(0, (12, 64), dtype=torch.bfloat16)
    cu = torch.tensor([0, 5, 12], dtype=torch.int32, device="cuda")
    packed = layer(x, cu_seqlens=cu, max_seqlen=7)
    assert distance(packed[:5], layer(x[None, :5])[0]) < 1e-2
    assert distance(packed[5:], layer(x[None, 5:])[0]) < 1e-2
    with pytest.raises(AssertionError, match="requires flash_attn"):
        MHA(64, 4, use_alibi=True)


def test_padding_without_flash_attn():
    layer = MHA(32, 2, device="cuda")
    (x,) = detached(0, (2, 6, 32), dtype=torch.float32)
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2], device="cuda")
    out = layer(x, key_padding_mask=mask)
    assert distance(out[1, :4], layer(x[1:, :4])[0]) < 1e-5


def test_caches():
    """Attending token by token with caches gives the same as attending at once."""
    shared = {"causal": True, "layer_idx": 0, "device": "cuda", "dtype": torch.bfloat16}
    (x,) = detached(0, (2, 9, 32), dtype=torch.bfloat16)
    cases: tuple[dict[str, Any], ...] = (
        {"rotary_emb_dim": 16, "use_flash_attn": True},
        {"rotary_emb_dim": 8, "use_flash_attn": True},
        {"use_alibi": True, "num_heads_kv": 1, "use_flash_attn": True},
        {"rotary_emb_dim": 16},
    )
    for options in cases:
        torch.manual_seed(0)
        layer = MHA(32, 2, **shared, **options)
        state = SimpleNamespace(
            max_seqlen=9,
            max_batch_size=2,
            seqlen_offset=0,
            batch_size_offset=0,
            key_value_memory_dict={0: layer.allocate_inference_cache(2, 9)},
            lengths_per_sample=None,
        )
        parts = []
        for start, end in itertools.pairwise((0, 3, 4, 5, 6, 7, 8, 9)):
            state.seqlen_offset = start
            parts.append(layer(x[:, start:end], inference_params=state))
        assert distance(torch.cat(parts, 1), layer(x)) < 0.02, options


def test_pickles_name_flash_attn_only():
    modules = (MHA(32, 2, use_flash_attn=True), RotaryEmbedding(8), CrossEntropyLoss(), RMSNorm(8))
    for module in modules:
        data = pickle.dumps(module)
        assert b"morph" not in data
        assert type(pickle.loads(data)) is type(module)
        assert type(module).__module__ in {
            "flash_attn.modules.mha",
            "flash_attn.layers.rotary",
            "flash_attn.losses.cross_entropy",
            "flash_attn.ops.rms_norm",
        }
    assert len(list(itertools.chain(*(module.parameters() for module in modules)))) == 5
