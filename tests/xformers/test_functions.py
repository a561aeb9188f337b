"""The functions around attention: low-level calls, parts of the keys, and the other operators."""

import pickle

import pytest
import torch
from torch.nn import functional

from tests.flash_attn.reference import attention, detached, distance, rotated, tensors
from tests.later import Later
from tests.xformers.reference import packed_biases

xops = Later("xformers.ops")
fmha = Later("xformers.ops.fmha")
attn_bias = Later("xformers.ops.fmha.attn_bias")
Bias = Later("xformers.ops.fmha.attn_bias", "BlockDiagonalCausalWithOffsetPaddedKeysMask")


def test_forward_and_backward_apart():
    for bias, queries, keys, mask in packed_biases():
        for operators in ((fmha.flash.FwOp, fmha.flash.BwOp), (fmha.cutlass.FwOp, fmha.cutlass.BwOp)):
            shapes = (1, queries, 2, 16), (1, keys, 2, 16), (1, keys, 2, 16)
            inputs = [each.detach() for each in tensors(1, *shapes, dtype=torch.float16)]
            out, lse = fmha.memory_efficient_attention_forward_requires_grad(*inputs, bias, op=operators[0])
            grads = fmha.memory_efficient_attention_backward(
                torch.ones_like(out), out, lse, *inputs, bias, op=operators[1]
            )
            exact = [each.cpu().double().requires_grad_() for each in inputs]
            expected, sums = attention(*exact, mask=mask)
            for got, wanted in zip(grads, torch.autograd.grad(expected.sum(), exact), strict=True):
                assert distance(got, wanted) < 2e-2
            if lse.shape == sums.shape:
                assert distance(lse, sums) < 1e-3


def test_only_one_function_is_autograds():
    (q,) = tensors(1, (1, 8, 2, 16), dtype=torch.float16)
    assert q.requires_grad
    out, lse = fmha.memory_efficient_attention_forward_requires_grad(q, q, q)
    results = [out, lse, fmha.memory_efficient_attention_forward(q, q, q)]
    results += fmha.memory_efficient_attention_backward(out, out, lse, q, q, q)
    results += fmha.memory_efficient_attention_partial(q, q, q)
    assert not any(each.requires_grad for each in results)
    assert fmha.memory_efficient_attention(q, q, q).requires_grad


def test_parts_of_the_keys_are_merged_to_all_of_them():
    q, k, v = tensors(2, *[(2, 12, 3, 16)] * 3, dtype=torch.float16)
    parts = [fmha.memory_efficient_attention_partial(q, x, y) for x, y in zip(k.split(5, 1), v.split(5, 1))]  # noqa: B905
    out, lse = fmha.merge_attentions(*zip(*parts, strict=True))
    expected, sums = attention(q, k, v)
    assert distance(out, expected) < 1e-3
    assert distance(lse, sums) < 1e-3


def test_what_no_operator_accepts_is_refused_with_reasons():
    q = torch.zeros(1, 4, 2, 16, device="cuda")
    with pytest.raises(NotImplementedError, match=r"cutlassF-pt.*\n.*dtype=torch.int32"):
        fmha.memory_efficient_attention(q.int(), q.int(), q.int())
    with pytest.raises(ValueError, match=r"fa2F.*\n.*dtype=torch.float32"):
        fmha.memory_efficient_attention(q, q, q, op=(fmha.flash.FwOp, None))
    with pytest.raises(ValueError, match="Incompatible shapes"):
        fmha.memory_efficient_attention(q, q[:, :, :1], q[:, :, :1])
    with pytest.raises(NotImplementedError, match="device=cpu"):
        fmha.memory_efficient_attention(q.cpu(), q.cpu(), q.cpu())
    assert "operator wasn't built" in fmha.flash3.FwOp.not_supported_reasons(fmha.Inputs(q, q, q))


def test_operators_name_the_biases_that_they_compute():
    for operator in fmha.MemoryEfficientAttentionCutlassOp:  # as Colossal-AI asks before it adds a matrix
        assert attn_bias.LowerTriangularMaskWithTensorBias in operator.SUPPORTED_ATTN_BIAS_TYPES
    kinds = {type(bias) for bias, *_ in packed_biases()} | {type(None), torch.Tensor}
    assert kinds <= set(fmha.flash.FwOp.SUPPORTED_ATTN_BIAS_TYPES)
    assert not isinstance("none", fmha.flash.FwOp.SUPPORTED_ATTN_BIAS_TYPES)


def test_biases_are_pickled_under_their_public_names():
    bias = fmha.BlockDiagonalMask.from_seqlens([2, 3]).make_causal()
    again = pickle.loads(pickle.dumps(bias))
    assert type(again).__module__ == "xformers.ops.fmha.attn_bias"
    assert again.q_seqinfo.seqstart.tolist() == [0, 2, 5]
    assert str(again.q_seqinfo.seqstart.device) == str(bias.q_seqinfo.seqstart.device)


@pytest.mark.platforms("cpu")
def test_compiled_without_a_break():
    from xformers.ops import fmha

    q, k, v = tensors(2, *[(1, 12, 2, 16)] * 3, dtype=torch.float16)
    for bias in (None, fmha.LowerTriangularMask(), fmha.BlockDiagonalMask.from_seqlens([5, 7])):

        def attend(*inputs, bias=bias):
            return fmha.memory_efficient_attention(*inputs, bias)

        out = torch.compile(attend, fullgraph=True, backend="aot_eager")(q, k, v)
        torch.testing.assert_close(out, fmha.memory_efficient_attention(q, k, v, bias), rtol=2e-3, atol=2e-3)
        torch.autograd.grad(out.sum(), (q, k, v))


def test_other_operators():
    (x, source), (index, scaling) = tensors(3, (6, 4, 8), (3, 4, 8), dtype=torch.float32), (None, None)
    index, scaling = torch.tensor([4, 0, 3], device="cuda"), torch.rand(8, device="cuda")
    expected = torch.index_add(x, 0, index, source * scaling, alpha=0.5)
    torch.testing.assert_close(xops.scaled_index_add(x * 1, index, source, scaling, 0.5), expected)
    rows = xops.index_select_cat([x.flatten(1), source.flatten(1)], [index, index[1:2]])
    assert rows.equal(torch.cat([x[index].flatten(), source[:1].flatten()]))
    module = xops.SwiGLU(8, 16, 4).cuda()
    w1, b1, w2, b2, w3, b3 = module._ordered_params()
    hidden = functional.silu(functional.linear(x, w1, b1)) * functional.linear(x, w2, b2)
    torch.testing.assert_close(module(x), functional.linear(hidden, w3, b3))
    norm = xops.RMSNorm(8).cuda()
    torch.testing.assert_close(norm(x), functional.rms_norm(x, (8,), eps=1e-6))
    parts = xops.unbind(x, 1)
    (grad,) = torch.autograd.grad(sum(each.sum() for each in parts), x)
    assert grad.equal(torch.ones_like(x))


def test_rotated_keys_are_in_their_cache():
    q, k, v = detached(4, (1, 3, 4, 8), *[(1, 3, 2, 8)] * 2, dtype=torch.float32)
    caches = [torch.zeros(1, 12, 2, 8, device="cuda") for _ in range(2)]
    bias = Bias.from_seqlens([2, 1], 6, [5, 2])
    out = xops.rope_padded(q, k, v, *caches, bias)
    places, positions = [3, 4, 7], torch.tensor([3.0, 4.0, 1.0], dtype=torch.float64)
    angle = positions[:, None] * 10000.0 ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)
    for got, given in ((out[0], q[0]), (caches[0][0, places], k[0])):
        assert distance(got, rotated(given.cpu().double(), angle.cos(), angle.sin(), True)) < 1e-5
    assert caches[1][0, places].equal(v[0])
    assert int(caches[0].any(-1).any(-1).sum()) == 3
