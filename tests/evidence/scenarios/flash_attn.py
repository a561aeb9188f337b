"""Attention in all forms, forwards and backwards, and the layers around it, with tiny tensors."""

import math
from collections.abc import Iterable

import torch

from tests.evidence.tensors import HALF, is_good, tensor


def run() -> Iterable[str]:
    """Uses flash_attn as a program would."""
    parts = _dense, _packed, _operators, _cache, _third, _fourth, _padding, _rotary, _layers
    for part in (*parts, _modules, _losses):
        part()
    return ()


def _dense() -> None:
    import flash_attn

    q, kv, qkv = tensor(1, 8, 2, 16), tensor(1, 8, 2, 2, 16), tensor(1, 8, 3, 2, 16)
    assert is_good(flash_attn.flash_attn_func(q, q, q, causal=True, window_size=(3, 0)))
    assert is_good(flash_attn.flash_attn_kvpacked_func(q, kv), flash_attn.flash_attn_qkvpacked_func(qkv))
    assert is_good(flash_attn.flash_attn_func(q, q, q, dropout_p=0.1, return_attn_probs=True)[0])


def _packed() -> None:
    import flash_attn

    q, kv, qkv = tensor(8, 2, 16), tensor(8, 2, 2, 16), tensor(8, 3, 2, 16)
    bounds = torch.tensor([0, 3, 8], dtype=torch.int32, device="cuda")
    assert is_good(flash_attn.flash_attn_varlen_func(q, q, q, bounds, bounds, 5, 5, causal=True))
    assert is_good(flash_attn.flash_attn_varlen_kvpacked_func(q, kv, bounds, bounds, 5, 5))
    assert is_good(flash_attn.flash_attn_varlen_qkvpacked_func(qkv, bounds, 5))


def _operators() -> None:
    from flash_attn import flash_attn_interface as interface
    from torch._subclasses import FakeTensorMode

    q, flat = tensor(1, 8, 2, 16).detach(), tensor(8, 2, 16).detach()
    bounds = torch.tensor([0, 3, 8], dtype=torch.int32, device="cuda")
    options = 0.0, 0.25, True, -1, -1, 0.0, None, False
    assert is_good(interface._flash_attn_forward(q, q, q, *options)[0])
    assert is_good(interface._flash_attn_varlen_forward(flat, flat, flat, bounds, bounds, 5, 5, *options)[0])
    with FakeTensorMode() as mode:
        q, flat, bounds = map(mode.from_tensor, (q, flat, bounds))
        assert interface._flash_attn_forward(q, q, q, *options)[0].shape == q.shape
        output = interface._flash_attn_varlen_forward(flat, flat, flat, bounds, bounds, 5, 5, *options)[0]
        assert output.shape == flat.shape


def _cache() -> None:
    import flash_attn

    q, new = tensor(2, 1, 2, 16).detach(), tensor(2, 1, 2, 16).detach()
    keys, values = tensor(2, 8, 2, 16).detach(), tensor(2, 8, 2, 16).detach()
    lengths = torch.tensor([3, 5], dtype=torch.int32, device="cuda")
    options = {"k": new, "v": new, "cache_seqlens": lengths, "causal": True}
    assert is_good(flash_attn.flash_attn_with_kvcache(q, keys, values, **options))


def _third() -> None:
    import flash_attn_interface
    from flash_attn_3 import flash_attn_interface as packaged

    q, flat, qkv = tensor(1, 8, 2, 16), tensor(8, 2, 16), tensor(1, 8, 3, 2, 16)
    bounds = torch.tensor([0, 3, 8], dtype=torch.int32, device="cuda")
    assert is_good(flash_attn_interface.flash_attn_func(q, q, q, causal=True))
    assert is_good(flash_attn_interface.flash_attn_qkvpacked_func(qkv))
    assert is_good(flash_attn_interface.flash_attn_varlen_func(flat, flat, flat, bounds, bounds, 5, 5))
    cache = tensor(1, 8, 2, 16).detach()
    assert is_good(packaged.flash_attn_with_kvcache(q.detach()[:, :1], cache, cache.clone()))


def _fourth() -> None:
    from flash_attn import cute
    from flash_attn.cute import interface

    q, flat, sink = tensor(1, 8, 2, 16), tensor(8, 2, 16), tensor(2)
    bounds = torch.tensor([0, 3, 8], dtype=torch.int32, device="cuda")
    out, sums = cute.flash_attn_func(q, q, q, causal=True, learnable_sink=sink, return_lse=True)
    assert is_good(out)
    packed, _ = cute.flash_attn_varlen_func(flat, flat, flat, cu_seqlens_q=bounds, cu_seqlens_k=bounds)
    assert is_good(packed)
    assert sums is not None
    interface._validate_head_dims(64, 64, 9, 8)


def _padding() -> None:
    from flash_attn import bert_padding

    hidden, mask = tensor(2, 4, 8), torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]], device="cuda")
    kept, indices, _, _, _ = bert_padding.unpad_input(hidden, mask)
    assert bert_padding.pad_input(kept, indices, 2, 4).shape == hidden.shape
    rows = bert_padding.index_first_axis(hidden.flatten(0, 1), indices)
    assert bert_padding.index_put_first_axis(rows, indices, 8).shape == (8, 8)


def _rotary() -> None:
    from flash_attn.layers import rotary

    x, angle = tensor(1, 8, 2, 16), torch.rand(8, 8, device="cuda").half()
    assert is_good(rotary.apply_rotary_emb(x, angle.cos(), angle.sin()))
    rotary.apply_rotary_emb_kv_(tensor(1, 8, 2, 2, 16).detach(), angle.cos(), angle.sin())
    assert rotary.RotaryEmbedding(16, device="cuda")(tensor(1, 8, 3, 2, 16).detach()).shape[-1] == 16


def _layers() -> None:
    from flash_attn.ops import activations, fused_dense, layer_norm, rms_norm
    from flash_attn.ops.triton import layer_norm as triton_layer_norm

    x, weight, bias = tensor(4, 16), tensor(16), tensor(16)
    assert is_good(activations.swiglu(x, x))
    assert is_good(fused_dense.FusedDense(16, 8, **HALF)(x), fused_dense.FusedMLP(16, **HALF)(x))
    fused_dense.fused_dense_func(x, tensor(8, 16))
    assert is_good(rms_norm.RMSNorm(16, **HALF)(x), rms_norm.rms_norm(x, weight, 1e-5))
    rms_norm.dropout_add_rms_norm(x, x, weight, None, 0.0, 1e-5)
    layer_norm.dropout_add_layer_norm(x, x, weight, bias, 0.0, 1e-5)
    layer_norm.layer_norm(x, weight, bias, 1e-5)
    assert is_good(triton_layer_norm.layer_norm_fn(x, weight, bias))
    assert is_good(triton_layer_norm.rms_norm_fn(x, weight, None))
    assert is_good(triton_layer_norm.RMSNorm(16, **HALF)(x))


def _modules() -> None:
    from flash_attn.modules import mha

    x = torch.randn(1, 8, 32, **HALF)
    attention = mha.MHA(32, 2, use_flash_attn=True, causal=True, rotary_emb_dim=16, **HALF)
    plain = mha.MHA(32, 2, **HALF)
    cross = mha.MHA(32, 2, cross_attn=True, use_flash_attn=True, **HALF)
    assert is_good(attention(x), plain(x), cross(x, x_kv=x))
    assert mha.get_alibi_slopes(2)[0] == math.ldexp(1, -4)


def _losses() -> None:
    from flash_attn.losses.cross_entropy import CrossEntropyLoss
    from flash_attn.ops.triton.cross_entropy import cross_entropy_loss

    logits, labels = torch.randn(4, 8, device="cuda", requires_grad=True), torch.arange(4, device="cuda")
    assert is_good(CrossEntropyLoss()(logits, labels), cross_entropy_loss(logits, labels)[0])
