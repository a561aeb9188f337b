"""The tensor-list operations of amp_C, and the updates of the fused optimizers."""

import math
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.apex import optimizer_formulas as formulas
from tests.apex.precision import DTYPES, doubles, values
from tests.later import Later

amp_C = Later("amp_C")
multi_tensor_applier = Later("apex.multi_tensor_apply", "multi_tensor_applier")
FusedSGD = Later("apex.optimizers", "FusedSGD")


CHUNK = 2048 * 32
settings = hypothesis.settings(max_examples=25, derandomize=True, deadline=None, database=None)
sizes = st.lists(st.lists(st.integers(1, 7), min_size=0, max_size=3).map(tuple), min_size=1, max_size=4)
factors = st.floats(-8, 8, width=16)


def flag(value: int = 0) -> Tensor:
    return torch.tensor([value], dtype=torch.int, device="cuda")


def tensors(shapes: list[tuple[int, ...]], dtype: torch.dtype = torch.float32, seed: int = 0) -> list[Tensor]:
    return [values(seed + 10 * index, *shape, dtype=dtype) for index, shape in enumerate(shapes)]


def close(actual: list[Tensor], expected: list[Tensor]) -> None:
    for value, wanted in zip(doubles(actual), expected, strict=True):
        tolerance = {torch.float32: 3e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}[actual[0].dtype]
        assert_close(value, wanted, rtol=tolerance, atol=tolerance)


def test_scale() -> None:
    @settings
    @hypothesis.given(sizes, st.sampled_from(DTYPES), st.sampled_from(DTYPES), factors)
    def check(shapes: list[tuple[int, ...]], given: torch.dtype, wanted: torch.dtype, scale: float) -> None:
        inputs, outputs, noop = tensors(shapes, given), tensors(shapes, wanted, seed=1), flag()
        amp_C.multi_tensor_scale(CHUNK, noop, [inputs, outputs], scale)
        close(outputs, [value * scale for value in doubles(inputs)])
        assert noop.tolist() == [0]

    check()


def test_axpby() -> None:
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
    @settings
    @hypothesis.given(sizes, st.sampled_from(DTYPES))
    def check(shapes: list[tuple[int, ...]], dtype: torch.dtype) -> None:
        given, noop = tensors(shapes, dtype), flag()
        each = torch.stack([value.norm() for value in doubles(given)])
        for norm in (amp_C.multi_tensor_l2norm, amp_C.multi_tensor_l2norm_mp):
            total, none = norm(CHUNK, noop, [given], False)
            assert (total.shape, total.dtype, none.shape) == ((1,), torch.float32, (0,))
            assert_close(total.cpu().double(), each.norm().reshape(1), rtol=1e-5, atol=1e-6)
            assert_close(norm(CHUNK, noop, [given], True)[1].cpu().double(), each, rtol=1e-5, atol=1e-6)
        inv_scale = torch.tensor([0.25], device="cuda")
        total, parts = amp_C.multi_tensor_unscale_l2norm(CHUNK, noop, [given], inv_scale, True)
        assert_close(total.cpu().double(), each.norm().reshape(1) / 4, rtol=1e-5, atol=1e-6)
        assert_close(parts.cpu().double(), each / 4, rtol=1e-5, atol=1e-6)
        assert noop.tolist() == [0]

    check()


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_the_flag_tells_of_what_is_not_finite(bad: float) -> None:
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
    noop, given = flag(1), tensors([(3,)])
    amp_C.multi_tensor_scale(CHUNK, noop, [given, given], 1.0)
    amp_C.multi_tensor_l2norm(CHUNK, noop, [given], False)
    assert noop.tolist() == [1]


def test_what_the_lists_must_be() -> None:
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
    here, host = tensors([(3,)]), [torch.ones(3)]
    with pytest.raises(RuntimeError, match="expected input to be on cuda"):
        amp_C.multi_tensor_l2norm(CHUNK, flag(), [host], False)
    with pytest.raises(RuntimeError, match="not on the same device as the first tensor"):
        amp_C.multi_tensor_scale(CHUNK, flag(), [here, host], 1.0)


def test_the_applier() -> None:
    assert multi_tensor_applier.available is True
    given = tensors([(3,), (4,)])
    norm, _ = multi_tensor_applier(amp_C.multi_tensor_l2norm, flag(), [given], False)
    assert_close(norm.cpu(), torch.cat(given).cpu().norm().reshape(1))


def test_norms_of_large_tensors_are_exact() -> None:
    (large,) = tensors([((1 << 22) + 5,)])
    total, each = amp_C.multi_tensor_l2norm(CHUNK, flag(), [[large, large[:7]]], True)
    assert_close(each[0].item(), large.cpu().double().norm().item(), rtol=1e-6, atol=0)
    assert_close(total.item(), torch.cat([large, large[:7]]).cpu().double().norm().item(), rtol=1e-6, atol=0)


def test_which_updates_the_flag_stops() -> None:
    norm = torch.ones(1, device="cuda")
    rates = (0.1, 0.9, 0.99, 1e-8)
    calls = {
        "multi_tensor_adam": (4, (*rates, 1, 1, 1, 0.1), False),
        "multi_tensor_sgd": (3, (0.1, 0.9, 0.0, 0.1, False, True, False, 1.0), True),
        "multi_tensor_lamb": (4, (*rates, 1, 1, 0.1, 1, 1, norm, 1.0, False), False),
    }
    for name, (depth, arguments, stops) in calls.items():
        for value in (0, 1):
            lists = [[each.abs()] for each in tensors([(5,)] * depth)]
            before = lists[1][0].clone()
            getattr(amp_C, name)(CHUNK, flag(value), lists, *arguments)
            assert torch.equal(before, lists[1][0]) == (stops and value == 1), name


def test_updates_of_a_first_step() -> None:
    """The functions themselves, as copies of apex's optimizers call them."""
    (start,), (grad,) = tensors([(5,)]), tensors([(5,)], seed=1)
    one, rates, modes = torch.ones(1, device="cuda"), (0.1, 0.9, 0.999, 1e-8), (1, True, 0.01)
    capturable = (one * 0.1, *rates[1:], one.int(), *modes, one)
    sign = start - 0.1 * grad.sign()
    for name, depth, arguments, expected in (
        ("adam", 4, (*rates, 1, *modes), stepped(torch.optim.AdamW, start, grad)),
        ("adam_capturable", 4, capturable, stepped(torch.optim.AdamW, start, grad)),
        ("sgd", 3, (0.0, 0.9, 0.0, 0.1, False, True, False, 1.0), stepped(torch.optim.SGD, start, grad)),
        ("lamb", 4, (*rates, 1, 1, 0.0, 1, 1, grad.norm().reshape(1), 1e6, False), sign),
    ):
        lists = [[grad], [start.clone()], *([torch.zeros_like(start)] for _ in range(depth - 2))]
        getattr(amp_C, f"multi_tensor_{name}")(CHUNK, flag(), lists, *arguments)
        assert_close(lists[1][0], expected, rtol=1e-4, atol=1e-4, msg=name)


def stepped(optimizer: Any, start: Tensor, grad: Tensor) -> Tensor:
    param = torch.nn.Parameter(start.clone())
    param.grad = grad
    optimizer([param], lr=0.1).step()
    return param.detach()


def test_sgd_writes_copies_in_float16() -> None:
    grads, params = tensors([(6,)], torch.float16), tensors([(6,)], seed=1)
    momenta, copies = tensors([(6,)], seed=2), tensors([(6,)], torch.float16, seed=3)
    options = {"lr": 0.1, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}
    formula = formulas.SGD({**options, "wd_after_momentum": False}, doubles(params))
    formula.step([value / 2 for value in doubles(grads)])
    lists = [grads, params, momenta, copies]
    amp_C.multi_tensor_sgd(CHUNK, flag(), lists, 0.0, 0.9, 0.0, 0.1, False, True, False, 0.5)
    close(params, formula.params)
    assert_close(copies[0], params[0].half())


def test_sgd_rounds_its_steps_as_torch_does() -> None:
    for dtype in (torch.float16, torch.float32):
        starts = tensors([(4096,)], dtype)
        params = [torch.nn.Parameter(starts[0].clone()) for _ in range(2)]
        # powers of two, so that the products are exact
        optimizers = [kind([each], lr=0.25, momentum=0.125) for kind, each in
                      zip((torch.optim.SGD, FusedSGD), params, strict=True)]  # fmt: skip
        for seed in range(1, 5):
            for each, optimizer in zip(params, optimizers, strict=True):
                (each.grad,) = tensors([(4096,)], dtype, seed)
                optimizer.step()
        assert_close(*params, rtol=0, atol=0 if dtype == torch.float16 else 1e-6)


def test_the_scale_shrinks_after_several_overflows_in_a_row() -> None:
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


def test_a_scale_below_the_smallest_normal_number_is_zero() -> None:
    scale = torch.tensor([torch.finfo(torch.float32).smallest_normal], device="cuda")
    found_inf = torch.ones(1, device="cuda")
    amp_C.update_scale_hysteresis(scale, flag(), flag(), found_inf, 2.0, 0.5, 3, 1)
    assert scale.item() == 0
