"""The fused optimizers' state, groups, gradients, layouts and errors."""

import io
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.apex import optimizer_formulas as formulas
from tests.apex.optimizer_formulas import Formula
from tests.apex.optimizer_runs import (
    FORMULAS,
    close,
    follow,
    made,
    options_of,
    parameters,
    set_gradients,
)
from tests.apex.precision import doubles


def written_by_apex(params: list[nn.Parameter], formula: Formula, names: tuple[str, ...]) -> dict[str, Any]:
    """Returns a state dict in apex's layout: the step is a number in the groups, not a tensor."""
    state = {
        index: {name: formula.state[index][short].float().to(param.device) for name, short in names}
        for index, param in enumerate(params)
    }
    lr, betas, eps = (formula.options[name] for name in ("lr", "betas", "eps"))
    options = {"lr": lr, "bias_correction": True, "betas": betas, "eps": eps, "weight_decay": 0.0}
    group = {**options, "step": formula.step_number, "params": list(range(len(params)))}
    return {"state": state, "param_groups": [group]}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_state_dict_that_apex_wrote(dtype: torch.dtype) -> None:
    formula = formulas.Adam(options_of("FusedAdam"), doubles(parameters(torch.float32)))
    shadows = parameters(torch.float32)
    for step in range(3):
        formula.step(set_gradients(shadows, step))
    params = [nn.Parameter(value.to("cuda", dtype)) for value in formula.params]
    optimizer = made("FusedAdam", params, lr=1.0)
    optimizer.load_state_dict(written_by_apex(params, formula, (("exp_avg", "m"), ("exp_avg_sq", "v"))))
    for param, state in zip(params, formula.state, strict=True):
        assert optimizer.state[param]["exp_avg"].dtype == torch.float32
        assert_close(optimizer.state[param]["exp_avg"].cpu(), state["m"].float())
    formula.params = doubles(params)
    formula.step(set_gradients(params, 3))
    optimizer.step()
    for param, expected in zip(params, formula.params, strict=True):
        close(param, expected, dtype)
    assert optimizer.state_dict()["param_groups"][0]["step"] == 4


@pytest.mark.parametrize("name", ["FusedAdam", "FusedMixedPrecisionLamb"])
def test_numbers_in_a_state_dict_become_tensors_where_they_must_be(name: str) -> None:
    """The state dict of a non-capturable optimizer stores the step and the learning rate as numbers."""
    chosen = {"capturable": True} if name == "FusedAdam" else {}
    optimizer, formula = follow(name, torch.float32, steps=2, **chosen)
    saved = optimizer.state_dict()
    for group in saved["param_groups"]:
        group.update(step=int(group["step"]), lr=float(group["lr"]))
    copies = [nn.Parameter(param.detach().clone()) for param in optimizer.param_groups[0]["params"]]
    other = made(name, copies, lr=1.0, **chosen)
    other.load_state_dict(saved)
    formula.step(set_gradients(copies, 9))
    other.step()
    for copied, expected in zip(copies, formula.params, strict=True):
        close(copied, expected, torch.float32)
    assert other.param_groups[0]["step"].tolist() == [3]


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_a_state_dict_continues_the_run(name: str) -> None:
    chosen = {"momentum": 0.9} if name == "FusedSGD" else {}
    optimizer, _ = follow(name, torch.float32, steps=2, **chosen)
    copies = [nn.Parameter(param.detach().clone()) for param in optimizer.param_groups[0]["params"]]
    other = made(name, copies, **chosen)
    saved = io.BytesIO()
    torch.save(optimizer.state_dict(), saved)
    saved.seek(0)
    with warnings.catch_warnings():
        # torch copies tensors in the options, and torch_npu's copy warns
        warnings.filterwarnings("ignore", "TypedStorage is deprecated")
        other.load_state_dict(torch.load(saved))
    for each in (optimizer, other):
        set_gradients(each.param_groups[0]["params"], 9)
        each.step()
    for param, copied in zip(optimizer.param_groups[0]["params"], copies, strict=True):
        assert_close(copied, param, rtol=0, atol=0)


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_closures_groups_and_missing_gradients(name: str) -> None:
    params = parameters(torch.float32)
    optimizer = made(name, [{"params": params[1:3]}, {"params": params[3:4], "lr": 0.0}])
    optimizer.add_param_group({"params": params[4:]})
    before = doubles(params)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = params[1].square().sum() + params[3].sum() + params[4].sum()
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    assert loss.requires_grad
    changed = [not torch.equal(old, new) for old, new in zip(before, doubles(params), strict=True)]
    assert changed == [False, True, False, False, True]


def test_gradients_are_set_to_none_or_to_zero() -> None:
    for name in FORMULAS:
        params = parameters(torch.float32)
        optimizer = made(name, params)
        set_gradients(params, 0)
        optimizer.zero_grad()
        assert [param.grad is not None for param in params] == [name == "FusedSGD"] * len(params), name


@pytest.mark.platforms("cpu")  # the others support contiguous tensors only
def test_layouts() -> None:
    """Gradients may have another memory layout than their parameters; parameters may not have gaps."""
    for name in FORMULAS:
        params = [nn.Parameter(torch.randn(2, 3, 4, 4, device="cuda").to(memory_format=torch.channels_last))]
        formula = FORMULAS[name](options_of(name), doubles(params))
        optimizer = made(name, params)
        for _ in range(2):
            params[0].grad = torch.randn(2, 3, 4, 4, device="cuda")
            formula.step([params[0].grad.cpu().double()])
            optimizer.step()
        close(params[0], formula.params[0], torch.float32)


def test_refusals() -> None:
    import apex.optimizers

    params = parameters(torch.float32)
    for name in ("FusedAdam", "FusedLAMB", "FusedNovoGrad", "FusedMixedPrecisionLamb"):
        with pytest.raises(RuntimeError, match="does not support the AMSGrad variant"):
            made(name, params, amsgrad=True)
    with pytest.raises(RuntimeError, match="only supported with the capturable version"):
        apex.optimizers.FusedAdam(params, master_weights=True)
    with pytest.raises(RuntimeError, match="call step\\(\\) with no arguments"):
        apex.optimizers.FusedAdam(params).step(grads=[])
    for values, message in (
        ({"lr": -1.0}, "Invalid learning rate: -1.0"),
        ({"lr": 1.0, "momentum": -1.0}, "Invalid momentum value"),
        ({"lr": 1.0, "weight_decay": -1.0}, "Invalid weight_decay value"),
        ({"lr": 1.0, "nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ):
        with pytest.raises(ValueError, match=message):
            apex.optimizers.FusedSGD(params, **values)
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        apex.optimizers.FusedSGD(params)


@pytest.mark.parametrize("name", ["FusedAdam", "FusedLAMB", "FusedAdagrad", "FusedNovoGrad"])
def test_parameters_that_are_refused(name: str) -> None:
    double = nn.Parameter(torch.ones(2, 2, device="cuda", dtype=torch.float64))
    gapped = nn.Parameter(torch.ones(2, 4, device="cuda")[:, ::2])
    sparse = nn.Parameter(torch.ones(2, 2, device="cuda"))
    for param in (double, gapped):
        param.grad = torch.ones_like(param)
    sparse.grad = torch.eye(2, device="cuda").to_sparse()
    for param, message in (
        (double, f"{name} only support fp16 and fp32"),
        (gapped, "A tensor was not contiguous"),
        (sparse, f"{name} does not support sparse gradients"),
    ):
        with pytest.raises(RuntimeError, match=message):
            made(name, [param]).step()
