"""Forward and backward attention for sequences of one length, of each version, against float64."""

import functools
import itertools
import math
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import torch

from tests.flash_attn.reference import (
    attention,
    check,
    check_options,
    check_output,
    check_sums,
    detached,
    distance,
    integers,
    tensors,
)
from tests.later import Later

DTYPES = (torch.bfloat16, torch.float16)
flash_attn = Later("flash_attn")
flash_attn_func = Later("flash_attn", "flash_attn_func")
_get_block_size_n = Later("flash_attn.flash_attn_interface", "_get_block_size_n")
VERSIONS = {"2": flash_attn, "3": Later("flash_attn_interface"), "4": Later("flash_attn.cute")}
RETURNING = {"2": "return_attn_probs", "3": "return_attn_probs", "4": "return_lse"}

# batch, queries, keys, heads, key heads, head size, and head size of the values, which may be another
SHAPES = ((2, 33, 33, 4, 4, 32), (1, 5, 70, 6, 2, 64), (2, 40, 13, 2, 1, 16), (3, 1, 29, 4, 1, 40))
LATER_SHAPES = ((2, 30, 50, 4, 2, 32), (2, 30, 50, 4, 2, 32, 48))
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"causal": True},
    {"window_size": (4, 2)},
    {"window_size": (7, -1), "causal": True},
    {"softcap": 2.0, "causal": True},
    {"softmax_scale": 0.3},
)
OPTIONS_OF_4: tuple[dict[str, Any], ...] = (
    *({}, {"causal": True}, {"window_size": (5, 3)}, {"softcap": 3.0, "softmax_scale": 0.3}),
    *({"window_size": (None, 4)}, {"window_size": (6, None), "causal": True}),
)
ALIBI = [{"alibi_slopes": each, "causal": causal} for each in (False, True) for causal in (False, True)]
CASES = {"2": (SHAPES, (*OPTIONS, *ALIBI)), "3": (LATER_SHAPES, OPTIONS), "4": (LATER_SHAPES, OPTIONS_OF_4)}


def slopes(batch: int, heads: int, per_sequence: bool) -> torch.Tensor:
    generator = torch.Generator("cpu").manual_seed(5)
    shape = (batch, heads) if per_sequence else (heads,)
    return torch.rand(*shape, generator=generator).to("cuda")


def inputs_for(shape: tuple[int, ...], dtype: torch.dtype) -> list[torch.Tensor]:
    batch, queries, keys, heads, key_heads, *sizes = shape
    of_keys, of_values = ((batch, keys, key_heads, size) for size in (sizes[0], sizes[-1]))
    return tensors(0, (batch, queries, heads, sizes[0]), of_keys, of_values, dtype=dtype)


def windowed(*inputs: torch.Tensor, window_size: Any = (-1, -1), **options: Any) -> Any:
    """The reference, with None for no end of a window."""
    return attention(*inputs, window_size=tuple(-1 if n is None else n for n in window_size), **options)


@pytest.mark.parametrize("version", VERSIONS)
def test_output_and_gradients(version):
    """In bfloat16; `test_any_shape_and_options` is in float16."""
    shapes, choices = CASES[version]
    for shape, options in itertools.product(shapes, choices):
        if "alibi_slopes" in options:
            options = {**options, "alibi_slopes": slopes(shape[0], shape[3], options["alibi_slopes"])}
        function = VERSIONS[version].flash_attn_func
        check_options(function, inputs_for(shape, torch.bfloat16), shape, reference=windowed, **options)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients_over_many_queries_are_rounded_once(dtype):
    q, k, v = tensors(0, (1, 700, 2, 32), (1, 1, 2, 32), (1, 1, 2, 32), dtype=dtype)
    (grad,) = tensors(1, (1, 700, 2, 32), dtype=dtype)
    got = torch.autograd.grad(flash_attn_func(q, k, v), v, grad)[0]
    exact = grad.detach().cpu().double().sum(1, keepdim=True)
    assert distance(got, exact) <= 1.001 * distance(exact.to(dtype), exact)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_query_that_sees_no_key_has_zeros(version):
    blind = math.inf if version == "2" else -math.inf
    function = functools.partial(VERSIONS[version].flash_attn_func, **{RETURNING[version]: True})
    q, k, v = tensors(0, (2, 9, 2, 32), (2, 5, 2, 32), (2, 5, 2, 32), dtype=torch.float16)
    out, lse, *_ = function(q, k, v, causal=True)
    assert not out[:, :4].any()
    assert out[:, 4:].all()
    assert (lse[:, :, :4] == blind).all()
    assert distance(lse[:, :, 4:], attention(q, k, v, causal=True)[1][:, :, 4:]) < 5e-4
    (grad,) = torch.autograd.grad(out.sum(), q)
    assert not grad[:, :4].any()
    no_keys = k[:, :0]
    out, lse, *_ = function(q, no_keys, no_keys)
    assert not out.any()
    assert (lse == blind).all()


def test_parts_of_the_keys_combined():
    package = VERSIONS["3"]
    q, k, v = (x.detach() for x in inputs_for(LATER_SHAPES[1], torch.bfloat16))
    parts = [
        package.flash_attn_func(q, k[:, own], v[:, own], return_attn_probs=True)
        for own in (slice(20), slice(20, 50))
    ]
    outs, sums = map(torch.stack, zip(*parts, strict=True))
    out, lse = package.flash_attn_combine(outs.float(), sums.transpose(-1, -2))
    exact = attention(q, k, v)
    assert out.dtype == torch.float32
    assert distance(out, exact[0]) < 0.02
    assert distance(lse.transpose(-1, -2), exact[1]) < 5e-4


def test_logarithm_of_the_sums():
    for shape, options in itertools.product(SHAPES, OPTIONS):
        q, k, v = inputs_for(shape, torch.float16)
        _, lse, weights = flash_attn_func(q, k, v, return_attn_probs=True, **options)
        expected = attention(q, k, v, **options)[1]
        assert weights.shape == (0,)
        check_sums(lse, expected)


@pytest.mark.parametrize("shape", [(2, 19, 3, 4, 24), (19, 3, 4, 24)], ids=["of batches", "of sequences"])
def test_packed_forms(shape):
    axis, kind, bounds = len(shape) - 3, "", []
    if axis == 1:
        kind, bounds = "varlen_", [integers(0, 5, 5, 19)]
    longest = [14] * len(bounds)
    (qkv,) = tensors(0, shape, dtype=torch.bfloat16)
    q, kv = (each.detach().requires_grad_() for each in (qkv.select(axis, 0), qkv.narrow(axis, 1, 2)))
    separate = [each.detach().requires_grad_() for each in qkv.unbind(axis)]
    expected, of_q, of_qkv = (
        getattr(flash_attn, f"flash_attn_{kind}{form}func")(*given, causal=True)
        for form, given in (
            ("", [*separate, *bounds * 2, *longest * 2]),
            ("kvpacked_", [q, kv, *bounds * 2, *longest * 2]),
            ("qkvpacked_", [qkv, *bounds, *longest]),
        )
    )
    for each in (expected, of_q, of_qkv):
        each.float().square().sum().backward()
        assert torch.equal(each, expected)
    assert torch.equal(qkv.grad, torch.stack([each.grad for each in separate], axis))
    assert torch.equal(q.grad, separate[0].grad)
    assert torch.equal(kv.grad, torch.stack([each.grad for each in separate[1:]], axis))


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
    check_sums(lse, attention(q, k, v, causal=True)[1])


def test_weights_are_relative_to_the_largest_score_of_their_block_and_the_later_ones():
    """This matches the CUDA kernels, which process blocks of keys from the last to the first."""
    for size, causal, window in ((32, False, (-1, -1)), (128, True, (-1, -1)), (64, False, (90, 20))):
        q, k, v = detached(0, *((2, 300, 2, size),) * 3, dtype=torch.float16)
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

    def views(function: Any) -> Any:
        return lambda q, k, v, **options: function(
            q.transpose(1, 2), k[:, :, 1:5], v.transpose(2, 3), **options
        )

    check_options(views(flash_attn_func), [q, k, v], reference=views(attention), causal=True)


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
        check_options(flash_attn_func, inputs, (queries, keys, heads, key_heads, size), **options)

    agree()


def test_autocast():
    layer = torch.nn.Linear(32, 96, device="cuda")
    x = torch.randn(2, 11, 32, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        qkv = layer(x).view(2, 11, 3, 1, 32)
        capped = flash_attn_func(*qkv.unbind(2), softcap=5.0, causal=True)
        capped.float().sum().backward()
    assert capped.dtype == torch.bfloat16
    check_output(capped, *qkv.detach().unbind(2), softcap=5.0, causal=True)
    assert layer.weight.grad.isfinite().all()


def test_without_gradients():
    q, k, v = tensors(0, (2, 9, 2, 32), (2, 9, 2, 32), (2, 9, 2, 32), dtype=torch.bfloat16)
    expected = flash_attn_func(q, k, v)
    with torch.no_grad():
        assert not flash_attn_func(q, k, v).requires_grad
    with torch.inference_mode():
        assert torch.equal(flash_attn_func(q, k, v), expected)
