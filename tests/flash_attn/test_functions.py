"""Forward and backward attention for sequences of one length, against float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import torch

from tests.flash_attn.reference import attention, check, distance, tensors
from tests.later import Later

flash_attn_func = Later("flash_attn", "flash_attn_func")
flash_attn_kvpacked_func = Later("flash_attn", "flash_attn_kvpacked_func")
flash_attn_qkvpacked_func = Later("flash_attn", "flash_attn_qkvpacked_func")
_get_block_size_n = Later("flash_attn.flash_attn_interface", "_get_block_size_n")


DTYPES = (torch.bfloat16, torch.float16)
# batch, queries, keys, heads, key heads, head size
SHAPES = ((2, 33, 33, 4, 4, 32), (1, 5, 70, 6, 2, 64), (2, 40, 13, 2, 1, 16), (3, 1, 29, 4, 1, 40))
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"causal": True},
    {"window_size": (4, 2)},
    {"window_size": (7, -1), "causal": True},
    {"softcap": 2.0, "causal": True},
    {"softmax_scale": 0.3},
)


def slopes(batch: int, heads: int, per_sequence: bool) -> torch.Tensor:
    generator = torch.Generator("cpu").manual_seed(5)
    shape = (batch, heads) if per_sequence else (heads,)
    return torch.rand(*shape, generator=generator).to("cuda")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_output_and_gradients(dtype):
    for shape, options in itertools.product(SHAPES, OPTIONS):
        batch, queries, keys, heads, key_heads, size = shape
        inputs = tensors(0, (batch, queries, heads, size), *[(batch, keys, key_heads, size)] * 2, dtype=dtype)
        check(
            lambda q, k, v, options=options: flash_attn_func(q, k, v, **options),
            lambda q, k, v, dtype, options=options: attention(q, k, v, dtype=dtype, **options)[0],
            inputs,
            (shape, options),
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients_over_many_queries_are_rounded_once(dtype):
    q, k, v = tensors(0, (1, 700, 2, 32), (1, 1, 2, 32), (1, 1, 2, 32), dtype=dtype)
    (grad,) = tensors(1, (1, 700, 2, 32), dtype=dtype)
    got = torch.autograd.grad(flash_attn_func(q, k, v), v, grad)[0]
    exact = grad.detach().cpu().double().sum(1, keepdim=True)
    assert distance(got, exact) <= 1.001 * distance(exact.to(dtype), exact)


@pytest.mark.parametrize("per_sequence", [False, True])
def test_alibi(per_sequence):
    for shape, causal in itertools.product(SHAPES, (False, True)):
        batch, queries, keys, heads, key_heads, size = shape
        options: dict[str, Any] = {"alibi_slopes": slopes(batch, heads, per_sequence), "causal": causal}
        inputs = tensors(
            0, (batch, queries, heads, size), *[(batch, keys, key_heads, size)] * 2, dtype=torch.bfloat16
        )
        check(
            lambda q, k, v, options=options: flash_attn_func(q, k, v, **options),
            lambda q, k, v, dtype, options=options: attention(q, k, v, dtype=dtype, **options)[0],
            inputs,
            (shape, causal),
        )


def test_logarithm_of_the_sums():
    for shape, options in itertools.product(SHAPES, OPTIONS):
        batch, queries, keys, heads, key_heads, size = shape
        q, k, v = tensors(
            0, (batch, queries, heads, size), *[(batch, keys, key_heads, size)] * 2, dtype=torch.float16
        )
        _, lse, weights = flash_attn_func(q, k, v, return_attn_probs=True, **options)
        expected = attention(q, k, v, **options)[1]
        assert lse.dtype == torch.float32
        assert lse.shape == (batch, heads, queries)
        assert weights.shape == (0,)
        blind = expected == -math.inf
        assert torch.equal(lse.cpu() == math.inf, blind)
        assert distance(lse.cpu().masked_fill(blind, 0), expected.masked_fill(blind, 0)) < 5e-4


def test_a_query_that_sees_no_key_has_zeros():
    q, k, v = tensors(0, (2, 7, 2, 32), (2, 3, 2, 32), (2, 3, 2, 32), dtype=torch.bfloat16)
    out, lse, _ = flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    assert not out[:, :4].any()
    assert out[:, 4:].all()
    assert (lse[:, :, :4] == math.inf).all()
    (grad,) = torch.autograd.grad(out.sum(), q)
    assert not grad[:, :4].any()
    no_keys = k[:, :0]
    out, lse, _ = flash_attn_func(q, no_keys, no_keys, return_attn_probs=True)
    assert not out.any()
    assert (lse == math.inf).all()


def test_packed_forms():
    (qkv,) = tensors(0, (2, 19, 3, 4, 24), dtype=torch.bfloat16)
    q, kv = qkv[:, :, 0].detach().requires_grad_(), qkv[:, :, 1:].detach().requires_grad_()
    separate = [qkv[:, :, index].detach().requires_grad_() for index in range(3)]
    expected = flash_attn_func(*separate, causal=True)
    results = flash_attn_qkvpacked_func(qkv, causal=True), flash_attn_kvpacked_func(q, kv, causal=True)
    for each in (expected, *results):
        each.float().square().sum().backward()
        assert torch.equal(each, expected)
    assert torch.equal(qkv.grad, torch.stack([each.grad for each in separate], 2))
    assert torch.equal(q.grad, separate[0].grad)
    assert torch.equal(kv.grad, torch.stack([each.grad for each in separate[1:]], 2))


def test_dropout():
    shapes = (2, 150, 4, 32), (2, 140, 2, 32), (2, 140, 2, 32)
    q, k, v = tensors(0, *shapes, dtype=torch.bfloat16)
    torch.cuda.manual_seed(3)
    out, lse, weights = flash_attn_func(q, k, v, dropout_p=0.25, causal=True, return_attn_probs=True)
    assert weights.shape == (2, 4, 256, 256)
    assert weights.dtype == torch.bfloat16
    kept = weights[:, :, :150, :140].cpu() >= 0
    seen = weights[:, :, :150, :140].cpu() != 0
    assert 0.73 < kept[seen].double().mean() < 0.77
    expected = attention(q, k, v, causal=True)
    plain = attention(q, k, v, causal=True, kept=torch.ones_like(kept), dropout_p=0.0)[0]
    assert distance(plain, expected[0]) == 0
    torch.cuda.manual_seed(3)
    check(
        lambda q, k, v: flash_attn_func(q, k, v, dropout_p=0.25, causal=True),
        lambda q, k, v, dtype: attention(q, k, v, dtype=dtype, causal=True, kept=kept, dropout_p=0.25)[0],
        [q, k, v],
    )
    torch.cuda.manual_seed(3)
    again = flash_attn_func(q, k, v, dropout_p=0.25, causal=True)
    assert torch.equal(out, again)
    assert not torch.equal(flash_attn_func(q, k, v, dropout_p=0.25, causal=True), again)
    finite = expected[1] != -math.inf
    assert distance(lse.cpu()[finite], expected[1][finite]) < 5e-4


def test_weights_are_relative_to_the_largest_score_of_their_block_and_the_later_ones():
    """This matches the CUDA kernels, which process blocks of keys from the last to the first."""
    for size, causal, window in ((32, False, (-1, -1)), (128, True, (-1, -1)), (64, False, (90, 20))):
        q, k, v = (x.detach() for x in tensors(0, *((2, 300, 2, size),) * 3, dtype=torch.float16))
        options = {"causal": causal, "window_size": window}
        _, lse, weights = flash_attn_func(q, k, v, dropout_p=0.2, return_attn_probs=True, **options)
        block = _get_block_size_n(torch.device("cuda"), size, True, causal)
        exact = attention(q, k, v, **options)
        _, expected = attention(q, k, v, **options, weights=True)
        scores = expected.log() + exact[1][..., None]
        for start in range(0, 300, block):
            largest = scores[..., start:].amax(-1, keepdim=True)
            wanted = (scores[..., start : start + block] - largest).exp().nan_to_num(0.0)
            assert (
                distance(weights[:, :, :300, start : start + block][..., : 300 - start].abs(), wanted) < 2e-3
            )
        assert not weights[:, :, 300:].any()
        assert not weights[..., 300:].any()


def test_gradients_are_deterministic():
    q, k, v = tensors(0, (2, 64, 4, 32), (2, 64, 2, 32), (2, 64, 2, 32), dtype=torch.float16)
    runs = [
        torch.autograd.grad(flash_attn_func(q, k, v, causal=True, deterministic=True).sum(), (q, k, v))
        for _ in range(2)
    ]
    assert all(map(torch.equal, *runs))


def test_strides_and_layouts():
    """Heads before tokens, slices of a larger tensor, and a last dimension that is not contiguous."""
    q, k, v = tensors(0, (2, 4, 20, 32), (2, 20, 9, 32), (2, 20, 32, 4), dtype=torch.bfloat16)
    check(
        lambda q, k, v: flash_attn_func(q.transpose(1, 2), k[:, :, 1:5], v.transpose(2, 3), causal=True),
        lambda q, k, v, dtype: attention(
            q.transpose(1, 2), k[:, :, 1:5], v.transpose(2, 3), dtype=dtype, causal=True
        )[0],
        [q, k, v],
    )


def test_any_shape_and_options():
    """Property: results agree with float64 for any shapes and options."""
    sizes = st.integers(1, 48)

    @hypothesis.settings(
        max_examples=20, derandomize=True, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(
        queries=sizes,
        keys=sizes,
        key_heads=st.integers(1, 2),
        group=st.integers(1, 3),
        size=st.sampled_from((8, 20, 32)),
        causal=st.booleans(),
        window=st.tuples(st.integers(-1, 50), st.integers(-1, 50)),
        softcap=st.sampled_from((0.0, 0.0, 3.0)),
        alibi=st.sampled_from((None, False, True)),
    )
    def agree(queries, keys, key_heads, group, size, causal, window, softcap, alibi):
        heads = key_heads * group
        options = {"causal": causal, "window_size": window, "softcap": softcap}
        options["alibi_slopes"] = None if alibi is None else slopes(2, heads, alibi)
        inputs = tensors(0, (2, queries, heads, size), *[(2, keys, key_heads, size)] * 2, dtype=torch.float16)
        check(
            lambda q, k, v: flash_attn_func(q, k, v, **options),
            lambda q, k, v, dtype: attention(q, k, v, dtype=dtype, **options)[0],
            inputs,
            (queries, keys, heads, key_heads, size, options),
        )

    agree()


def test_autocast():
    layer = torch.nn.Linear(32, 96, device="cuda")
    x = torch.randn(2, 11, 32, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        qkv = layer(x).view(2, 11, 3, 1, 32)
        capped = flash_attn_func(*qkv.unbind(2), softcap=5.0, causal=True)
        capped.float().sum().backward()
    assert capped.dtype == torch.bfloat16
    exact = attention(*qkv.detach().unbind(2), softcap=5.0, causal=True)[0]
    plain = attention(*qkv.detach().unbind(2), softcap=5.0, causal=True, dtype=torch.bfloat16)[0]
    assert distance(capped, exact) <= 2 * distance(plain, exact)
    assert layer.weight.grad.isfinite().all()


def test_without_gradients():
    q, k, v = tensors(0, (2, 9, 2, 32), (2, 9, 2, 32), (2, 9, 2, 32), dtype=torch.bfloat16)
    expected = flash_attn_func(q, k, v)
    with torch.no_grad():
        assert not flash_attn_func(q, k, v).requires_grad
    with torch.inference_mode():
        assert torch.equal(flash_attn_func(q, k, v), expected)
