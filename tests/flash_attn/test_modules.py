"""Attention modules, perceptrons, blocks and generation."""

from __future__ import annotations

import itertools
import pickle
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.flash_attn.reference import distance, tensors


def same_weights(first: nn.Module, second: nn.Module) -> None:
    second.load_state_dict(first.state_dict())


def test_attention_with_and_without_flash_attn():
    from flash_attn.modules.mha import MHA

    (x,) = (x.detach() for x in tensors(0, (2, 10, 64), dtype=torch.bfloat16))
    cases: tuple[dict[str, Any], ...] = (
        {},
        {"causal": True},
        {"num_heads_kv": 2, "causal": True},
        {"rotary_emb_dim": 16, "causal": True, "num_heads_kv": 1},
        {"rotary_emb_dim": 8, "rotary_emb_interleaved": True},
        {"cross_attn": True, "causal": True},
        {"dwconv": True},
        {"checkpointing": True},
    )
    for options in cases:
        torch.manual_seed(0)
        shared = {"device": "cuda", "dtype": torch.bfloat16, **options}
        flash, plain = MHA(64, 4, use_flash_attn=True, **shared), MHA(64, 4, **shared)
        if not options.get("dwconv"):
            same_weights(flash, plain)
            assert distance(flash(x), plain(x)) < 0.02, options
        else:
            assert flash.to("cuda", torch.bfloat16)(x).shape == x.shape


def test_alibi_windows_and_sequences():
    from flash_attn.modules.mha import MHA, get_alibi_slopes

    assert get_alibi_slopes(8) == [2.0**-n for n in range(1, 9)]
    assert len(get_alibi_slopes(6)) == 6
    shared = {"use_flash_attn": True, "device": "cuda", "dtype": torch.bfloat16, "causal": True}
    layer = MHA(64, 4, use_alibi=True, window_size=(3, 0), **shared)
    (x,) = (x.detach() for x in tensors(0, (12, 64), dtype=torch.bfloat16))
    cu = torch.tensor([0, 5, 12], dtype=torch.int32, device="cuda")
    packed = layer(x, cu_seqlens=cu, max_seqlen=7)
    assert distance(packed[:5], layer(x[None, :5])[0]) < 1e-2
    assert distance(packed[5:], layer(x[None, 5:])[0]) < 1e-2
    with pytest.raises(AssertionError, match="requires flash_attn"):
        MHA(64, 4, use_alibi=True)


def test_padding_without_flash_attn():
    from flash_attn.modules.mha import MHA

    layer = MHA(32, 2, device="cuda")
    (x,) = (x.detach() for x in tensors(0, (2, 6, 32), dtype=torch.float32))
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2], device="cuda")
    out = layer(x, key_padding_mask=mask)
    assert distance(out[1, :4], layer(x[1:, :4])[0]) < 1e-5


class Model(nn.Module):
    """A language model of one layer, as flash_attn's own models call their parts."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        from flash_attn.modules.embedding import GPT2Embeddings
        from flash_attn.modules.mha import MHA

        where = {"device": "cuda", "dtype": torch.bfloat16}
        self.embeddings = GPT2Embeddings(32, 50, 0, **where)
        self.mixer = MHA(32, 2, causal=True, layer_idx=0, use_flash_attn=True, **where, **options)
        self.head = nn.Linear(32, 50, **where)

    def forward(
        self,
        input_ids: Tensor,
        position_ids: Any = None,
        inference_params: Any = None,
        num_last_tokens: int = 0,
    ) -> Any:
        hidden = self.embeddings(input_ids)
        hidden = hidden + self.mixer(hidden, inference_params=inference_params)
        return SimpleNamespace(logits=self.head(hidden[:, -num_last_tokens:]))


def test_generation():
    """With caches, the same tokens are likeliest as without, and sampling follows the logits."""
    from flash_attn.utils.generation import InferenceParams, decode, sample

    prompt = torch.tensor([[3, 1, 4], [1, 5, 9]], device="cuda")
    for options in ({"rotary_emb_dim": 16}, {"rotary_emb_dim": 8}, {"use_alibi": True, "num_heads_kv": 1}):
        torch.manual_seed(0)
        model = Model(**options)
        generated = decode(prompt, model, max_length=9)
        assert generated.sequences.shape == (2, 9)
        whole = model(generated.sequences.clone()).logits
        scores = torch.stack(generated.scores, 1)
        assert distance(scores, whole[:, 2:8]) < 0.1
        best = generated.sequences[:, 3:, None]
        assert torch.equal(scores.gather(2, best)[..., 0], scores.max(-1).values)
    logits = torch.tensor([[0.0, 5.0, 4.9, -9.0]] * 64, device="cuda")
    assert set(sample(logits, top_k=2, temperature=10.0).tolist()) == {1, 2}
    assert set(sample(logits, top_k=0, top_p=0.4).tolist()) == {1}
    parameters = InferenceParams(8, 2, seqlen_offset=4)
    parameters.reset(9, 1)
    assert (parameters.max_seqlen, parameters.max_batch_size, parameters.seqlen_offset) == (9, 1, 0)


@pytest.mark.parametrize("prenorm", [False, True])
def test_blocks_fused_or_not(prenorm):
    from flash_attn.modules.block import Block, ParallelBlock
    from flash_attn.modules.mlp import GatedMlp

    (x,) = (x.detach() for x in tensors(0, (2, 5, 64), dtype=torch.float32))
    options = {"norm_cls": lambda dim: nn.LayerNorm(dim, device="cuda")}
    options["mlp_cls"] = lambda dim: GatedMlp(dim, activation=functional.silu, device="cuda")
    options["mixer_cls"] = lambda dim: nn.Linear(dim, dim, device="cuda")
    torch.manual_seed(0)
    plain = Block(64, prenorm=prenorm, **options)
    fused = Block(64, prenorm=prenorm, fused_dropout_add_ln=True, **options)
    same_weights(plain, fused)
    assert_same(plain(x), fused(x))
    if prenorm:
        parallel = [ParallelBlock(64, fused_dropout_add_ln=fused, **options) for fused in (False, True)]
        same_weights(*parallel)
        assert_same(*(block(x, x + 1, x - 1) for block in parallel))
        dropping = Block(64, drop_path1=1.0, resid_dropout1=0.5, **options)
        residual = dropping(x, x)[1]
        assert residual.shape == x.shape
        assert dropping.drop_path1(x).abs().max() == 0


def assert_same(first: Any, second: Any) -> None:
    pairs = zip(first, second, strict=True) if isinstance(first, tuple) else [(first, second)]
    assert all(distance(*pair) < 1e-5 for pair in pairs)


def test_perceptrons_and_patches():
    from flash_attn.layers.patch_embed import PatchEmbed
    from flash_attn.modules.mlp import GatedMlp, Mlp

    (x,) = (x.detach() for x in tensors(0, (3, 12), dtype=torch.float32))
    layer = GatedMlp(12, device="cuda")
    values, gate = layer.fc1(x).chunk(2, -1)
    assert distance(layer(x), layer.fc2(values * torch.sigmoid(gate))) < 1e-6
    assert layer.fc2.in_features == 128
    out, same = Mlp(12, return_residual=True, device="cuda")(x)
    assert out.shape == same.shape
    embed = PatchEmbed(8, 4, 3, 10).to("cuda")
    (image,) = (x.detach() for x in tensors(0, (2, 3, 8, 8), dtype=torch.float32))
    kernel = embed.proj.weight.view(10, 3, 4, 4)
    expected = functional.conv2d(image, kernel, embed.proj.bias, stride=4).flatten(2).mT
    assert distance(embed(image), expected) < 1e-4
    with pytest.raises(AssertionError, match="Input image height"):
        embed(image[:, :, :4])


def test_embeddings():
    from flash_attn.modules.embedding import BertEmbeddings, GPT2Embeddings

    tokens = torch.tensor([[1, 2, 3], [4, 5, 6]], device="cuda")
    gpt = GPT2Embeddings(8, 10, 5, word_embed_proj_dim=4, device="cuda")
    expected = gpt.project_in(gpt.word_embeddings(tokens)) + gpt.position_embeddings.weight[:3]
    assert torch.equal(gpt(tokens), expected)
    bert = BertEmbeddings(8, 10, 5, 2, device="cuda")
    expected = bert.word_embeddings(tokens) + bert.position_embeddings.weight[:3]
    assert torch.equal(bert(tokens), expected + bert.token_type_embeddings.weight[0])


def test_pickles_name_flash_attn_only():
    from flash_attn.layers.rotary import RotaryEmbedding
    from flash_attn.losses.cross_entropy import CrossEntropyLoss
    from flash_attn.modules.mha import MHA
    from flash_attn.ops.rms_norm import RMSNorm

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
