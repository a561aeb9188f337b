"""The optimizer updates of amp_C, which the fused optimizers and other projects call."""

from __future__ import annotations

import torch
from torch.testing import assert_close

from tests.apex import optimizer_formulas as formulas
from tests.apex.tensor_lists import CHUNK, close, doubles, flag, tensors


def test_which_updates_the_flag_stops() -> None:
    import amp_C

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


def test_sgd_rounds_its_steps_as_torch_does() -> None:
    from apex.optimizers import FusedSGD

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


def test_a_scale_below_the_smallest_normal_number_is_zero() -> None:
    import amp_C

    scale = torch.tensor([torch.finfo(torch.float32).smallest_normal], device="cuda")
    found_inf = torch.ones(1, device="cuda")
    amp_C.update_scale_hysteresis(scale, flag(), flag(), found_inf, 2.0, 0.5, 3, 1)
    assert scale.item() == 0
