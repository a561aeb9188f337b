"""The tensor-list operations of amp_C and apex_C: argument order, results and overflow flag."""

from __future__ import annotations

import math

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from torch.testing import assert_close

from tests.apex.tensor_lists import CHUNK, close, doubles, flag, tensors

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
settings = hypothesis.settings(max_examples=25, derandomize=True, deadline=None, database=None)
sizes = st.lists(st.lists(st.integers(1, 7), min_size=0, max_size=3).map(tuple), min_size=1, max_size=4)
factors = st.floats(-8, 8, width=16)


def test_scale() -> None:
    import amp_C

    @settings
    @hypothesis.given(sizes, st.sampled_from(DTYPES), st.sampled_from(DTYPES), factors)
    def check(shapes: list[tuple[int, ...]], given: torch.dtype, wanted: torch.dtype, scale: float) -> None:
        inputs, outputs, noop = tensors(shapes, given), tensors(shapes, wanted, seed=1), flag()
        amp_C.multi_tensor_scale(CHUNK, noop, [inputs, outputs], scale)
        close(outputs, [value * scale for value in doubles(inputs)])
        assert noop.tolist() == [0]

    check()


def test_axpby() -> None:
    import amp_C

    @settings
    @hypothesis.given(sizes, st.sampled_from(DTYPES[:2]), st.sampled_from(DTYPES[:2]), factors, factors)
    def check(
        shapes: list[tuple[int, ...]], given: torch.dtype, wanted: torch.dtype, a: float, b: float
    ) -> None:
        x, y, noop = tensors(shapes, given), tensors(shapes, seed=1), flag()
        outputs = tensors(shapes, wanted, seed=2)
        expected = [a * first + b * second for first, second in zip(doubles(x), doubles(y), strict=True)]
        amp_C.multi_tensor_axpby(CHUNK, noop, [x, y, outputs], a, b, -1)
        for value, want in zip(outputs, expected, strict=True):
            assert_close(
                value.cpu().double(), want, rtol=1e-3, atol=2e-2 if wanted != torch.float32 else 1e-5
            )
        amp_C.multi_tensor_axpby(CHUNK, noop, [x, y, y], a, b, 0)  # in place, as amp does
        for value, want in zip(y, expected, strict=True):
            assert_close(value.cpu().double(), want, rtol=1e-5, atol=1e-5)
        assert noop.tolist() == [0]

    check()


def test_norms() -> None:
    import amp_C

    @settings
    @hypothesis.given(sizes, st.sampled_from(DTYPES))
    def check(shapes: list[tuple[int, ...]], dtype: torch.dtype) -> None:
        values, noop = tensors(shapes, dtype), flag()
        each = torch.stack([value.norm() for value in doubles(values)])
        for norm in (amp_C.multi_tensor_l2norm, amp_C.multi_tensor_l2norm_mp):
            total, none = norm(CHUNK, noop, [values], False)
            assert (total.shape, total.dtype, none.shape) == ((1,), torch.float32, (0,))
            assert_close(total.cpu().double(), each.norm().reshape(1), rtol=1e-5, atol=1e-6)
            assert_close(norm(CHUNK, noop, [values], True)[1].cpu().double(), each, rtol=1e-5, atol=1e-6)
        inv_scale = torch.tensor([0.25], device="cuda")
        total, parts = amp_C.multi_tensor_unscale_l2norm(CHUNK, noop, [values], inv_scale, True)
        assert_close(total.cpu().double(), each.norm().reshape(1) / 4, rtol=1e-5, atol=1e-6)
        assert_close(parts.cpu().double(), each / 4, rtol=1e-5, atol=1e-6)
        assert noop.tolist() == [0]

    check()


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_the_flag_tells_of_what_is_not_finite(bad: float) -> None:
    import amp_C

    for dtype in DTYPES:
        good, worse = tensors([(4,), (3, 2)], dtype), tensors([(4,), (3, 2)], dtype)
        worse[1][2, 1] = bad
        for inputs, outputs in ((worse, good), (worse, worse)):
            noop = flag()
            amp_C.multi_tensor_scale(CHUNK, noop, [inputs, outputs], 0.5)
            assert noop.tolist() == [1]
            assert not outputs[1].isfinite().all()
        noop = flag()
        amp_C.multi_tensor_l2norm(CHUNK, noop, [worse], False)
        assert noop.tolist() == [1]
    good, worse = tensors([(3,)]), tensors([(3,)])
    worse[0][1] = bad
    for lists, checked, told in (
        ([worse, good], 0, 1),
        ([worse, good], 1, 0),
        ([good, worse], 1, 1),
        ([good, worse], -1, 1),
    ):
        noop = flag()
        amp_C.multi_tensor_axpby(CHUNK, noop, [*lists, tensors([(3,)])], 1.0, 1.0, checked)
        assert noop.tolist() == [told]


def test_a_raised_flag_stays_raised() -> None:
    import amp_C

    noop, values = flag(1), tensors([(3,)])
    amp_C.multi_tensor_scale(CHUNK, noop, [values, values], 1.0)
    amp_C.multi_tensor_l2norm(CHUNK, noop, [values], False)
    assert noop.tolist() == [1]


def test_what_the_lists_must_be() -> None:
    import amp_C

    good, gapped = tensors([(2, 4)]), [tensors([(2, 4)])[0].t()]
    for lists, message in (
        ([good], "tensor_lists.size\\(\\) != depth"),
        ([[], []], "tensor_lists\\[0\\].size\\(\\) is not > 0"),
        ([good, good * 2], "Size mismatch among tensor lists"),
        ([good, tensors([(3,)])], "Size mismatch"),
        ([good, gapped], "A tensor was not contiguous"),
        ([[value.int() for value in good]] * 2, "\"multi_tensor_scale_cuda\" not implemented for 'Int'"),
    ):
        with pytest.raises(RuntimeError, match=message):
            amp_C.multi_tensor_scale(CHUNK, flag(), lists, 1.0)
    with pytest.raises(TypeError):
        amp_C.multi_tensor_scale(CHUNK, flag(), [good, good])


@pytest.mark.platforms("npu", "simulated-xpu")
def test_tensors_elsewhere_are_refused() -> None:
    import amp_C

    here, host = tensors([(3,)]), [torch.ones(3)]
    with pytest.raises(RuntimeError, match="expected input to be on cuda"):
        amp_C.multi_tensor_l2norm(CHUNK, flag(), [host], False)
    with pytest.raises(RuntimeError, match="not on the same device as the first tensor"):
        amp_C.multi_tensor_scale(CHUNK, flag(), [here, host], 1.0)


def test_the_applier() -> None:
    import amp_C
    from apex.multi_tensor_apply import multi_tensor_applier

    assert multi_tensor_applier.available is True
    values = tensors([(3,), (4,)])
    norm, _ = multi_tensor_applier(amp_C.multi_tensor_l2norm, flag(), [values], False)
    assert_close(norm.cpu(), torch.cat(values).cpu().norm().reshape(1))


def test_flattening() -> None:
    import apex_C

    values = tensors([(3,), (2, 4)])
    flat = apex_C.flatten(values)
    assert flat.shape == (11,)
    for value, part in zip(values, apex_C.unflatten(flat, values), strict=True):
        assert_close(part, value)


def test_norms_of_large_tensors_are_exact() -> None:
    import amp_C

    (large,) = tensors([((1 << 22) + 5,)])
    total, each = amp_C.multi_tensor_l2norm(CHUNK, flag(), [[large, large[:7]]], True)
    assert_close(each[0].item(), large.cpu().double().norm().item(), rtol=1e-6, atol=0)
    assert_close(total.item(), torch.cat([large, large[:7]]).cpu().double().norm().item(), rtol=1e-6, atol=0)
