"""The operations of amp_C and apex_C: their arguments in order, their numbers, and their flag."""

from __future__ import annotations

import math

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.apex import optimizer_formulas as formulas

CHUNK = 2048 * 32
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
settings = hypothesis.settings(max_examples=25, derandomize=True, deadline=None, database=None)
sizes = st.lists(st.lists(st.integers(1, 7), min_size=0, max_size=3).map(tuple), min_size=1, max_size=4)
factors = st.floats(-8, 8, width=16)


def flag(value: int = 0) -> Tensor:
    return torch.tensor([value], dtype=torch.int, device="cuda")


def tensors(
    shapes: list[tuple[int, ...]], dtype: torch.dtype = torch.float32, seed: int = 0, scale: float = 1.0
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [(scale * torch.randn(shape, generator=generator)).to("cuda", dtype) for shape in shapes]


def doubles(values: list[Tensor]) -> list[Tensor]:
    return [value.cpu().double() for value in values]


def close(actual: list[Tensor], expected: list[Tensor]) -> None:
    for value, wanted in zip(actual, expected, strict=True):
        tolerance = {torch.float32: 3e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}[value.dtype]
        assert_close(value.cpu().double(), wanted, rtol=tolerance, atol=tolerance)


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
        outputs = [torch.empty_like(value) for value in values]
        total, _ = amp_C.multi_tensor_l2norm_scale(CHUNK, noop, [values, outputs], 0.5, False)
        assert_close(total.cpu().double(), each.norm().reshape(1), rtol=1e-5, atol=1e-6)
        close(outputs, [value / 2 for value in doubles(values)])
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


def test_which_updates_the_flag_stops() -> None:
    import amp_C

    one, step = torch.ones((), device="cuda"), torch.ones(1, dtype=torch.int, device="cuda")
    norm = torch.ones(1, device="cuda")
    rates = (0.1, 0.9, 0.99, 1e-8)
    tensor_rates = (one * 0.1, *rates[1:], step, 1, 1, 0.1)
    of_lamb = (one * 0.1, *rates[1:], step, 1, 0.1)
    calls = {
        "multi_tensor_adam": (4, (*rates, 1, 1, 1, 0.1), False),
        "multi_tensor_adam_capturable": (4, (*tensor_rates, one), True),
        "multi_tensor_adam_capturable_master": (5, (*tensor_rates, one), True),
        "multi_tensor_adagrad": (3, (0.1, 1e-8, 0, 0.1), False),
        "multi_tensor_sgd": (3, (0.1, 0.9, 0.0, 0.1, False, True, False, 1.0), True),
        "multi_tensor_lamb": (4, (*rates, 1, 1, 0.1, 1, 1, norm, 1.0, False), False),
        "multi_tensor_lamb_mp": (4, (*of_lamb, 1, 1, norm, norm, False, one, one), True),
        "multi_tensor_novograd": (3, (norm.clone(), *rates, 1, 1, 0.1, 1, 1, 2), False),
    }
    for name, (depth, arguments, stops) in calls.items():
        for value in (0, 1):
            lists = [[each.abs()] for each in tensors([(5,)] * depth)]
            before = lists[1][0].clone()
            getattr(amp_C, name)(CHUNK, flag(value), lists, *arguments)
            assert torch.equal(before, lists[1][0]) == (stops and value == 1), name


def test_adam_with_masters() -> None:
    import amp_C

    shapes = [(5,), (3, 4)]
    grads, params = tensors(shapes, torch.float16), tensors(shapes, torch.float16, seed=1)
    masters, averages, squares = (
        [value.float() for value in params],
        *([torch.zeros(shape, device="cuda") for shape in shapes] for _ in range(2)),
    )
    options = {"betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.1, "lr": 0.1}
    formula = formulas.Adam({**options, "adam_w_mode": True, "bias_correction": True}, doubles(masters))
    formula.step([value / 4 for value in doubles(grads)])
    lists = [grads, params, averages, squares, masters]
    lr, step = torch.tensor(0.1, device="cuda"), torch.tensor([1], dtype=torch.int, device="cuda")
    inv_scale, scaled = torch.tensor([0.25], device="cuda"), doubles(grads)
    amp_C.multi_tensor_adam_capturable_master(
        CHUNK, flag(), lists, lr, 0.9, 0.99, 1e-8, step, 1, 1, 0.1, inv_scale
    )
    close(masters, formula.params)
    close(params, formula.params)
    close(grads, [value / 4 for value in scaled])


def test_lamb_in_two_stages() -> None:
    import amp_C

    shapes = [(5,), (3, 4), (2, 2)]
    grads, params = tensors(shapes), tensors(shapes, seed=1)
    averages, squares, updates = ([torch.zeros(shape, device="cuda") for shape in shapes] for _ in range(3))
    options = {"betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.1, "lr": 0.1, "max_grad_norm": 1.0}
    modes = {"adam_w_mode": True, "bias_correction": True, "grad_averaging": True, "use_nvlamb": False}
    formula = formulas.Lamb({**options, **modes}, doubles(params))
    decay = torch.full((3,), 0.1, device="cuda")
    for step in range(3):
        formula.step(doubles(grads))
        norm, _ = amp_C.multi_tensor_l2norm(CHUNK, flag(), [grads], False)
        lists = [grads, params, averages, squares, updates]
        amp_C.multi_tensor_lamb_stage1_cuda(CHUNK, flag(), lists, decay, step, 0.9, 0.99, 1e-6, norm, 1.0)
        _, param_norms = amp_C.multi_tensor_l2norm(CHUNK, flag(), [params], True)
        _, update_norms = amp_C.multi_tensor_l2norm(CHUNK, flag(), [updates], True)
        arguments = (param_norms, update_norms, 0.1, 0.1, False)
        amp_C.multi_tensor_lamb_stage2_cuda(CHUNK, flag(), [params, updates], *arguments)
        close(params, formula.params)


def test_sgd_writes_copies_in_float16() -> None:
    import amp_C

    grads, params = tensors([(6,)], torch.float16), tensors([(6,)], seed=1)
    momenta, copies = tensors([(6,)], seed=2), tensors([(6,)], torch.float16, seed=3)
    options = {"lr": 0.1, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}
    formula = formulas.SGD({**options, "wd_after_momentum": False}, doubles(params))
    formula.step([value / 2 for value in doubles(grads)])
    lists = [grads, params, momenta, copies]
    amp_C.multi_tensor_sgd(CHUNK, flag(), lists, 0.0, 0.9, 0.0, 0.1, False, True, False, 0.5)
    close(params, formula.params)
    assert_close(copies[0], params[0].half())


def test_the_scale_shrinks_after_several_overflows_in_a_row() -> None:
    import amp_C

    scale = torch.tensor([16.0], device="cuda")
    growth, tolerance = flag(), torch.tensor([2], dtype=torch.int, device="cuda")
    seen = []
    for found in (0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0):
        found_inf = torch.tensor([found], device="cuda")
        amp_C.update_scale_hysteresis(scale, growth, tolerance, found_inf, 2.0, 0.5, 3, 2)
        seen.append((scale.item(), growth.item(), tolerance.item()))
    assert seen == [
        (16, 1, 2), (16, 0, 1), (16, 1, 2), (16, 0, 1), (8, 0, 0),
        (4, 0, -1), (4, 1, 2), (4, 2, 2), (8, 0, 2), (8, 1, 2),
    ]  # fmt: skip


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
    with pytest.raises(RuntimeError, match="only supports some combinations"):
        amp_C.multi_tensor_sgd(
            CHUNK, flag(), [tensors([(2, 4)], torch.float16), good, good], 0, 0, 0, 1, False, True, False, 1
        )


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
