"""The fused optimizers against float64 formulas."""

from __future__ import annotations

import inspect
import io
import itertools
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.apex import optimizer_formulas as formulas
from tests.apex.optimizer_formulas import Formula

SIZES = ((7,), (3, 5), (2, 3, 4, 4), (1,), (130, 17))
FORMULAS = {
    "FusedAdam": formulas.Adam,
    "FusedLAMB": formulas.Lamb,
    "FusedMixedPrecisionLamb": formulas.Lamb,
    "FusedSGD": formulas.SGD,
    "FusedAdagrad": formulas.Adagrad,
    "FusedNovoGrad": formulas.NovoGrad,
}


def optimizer_class(name: str) -> Any:
    import apex.optimizers

    return getattr(apex.optimizers, name)


def options_of(name: str, **chosen: Any) -> dict[str, Any]:
    """Returns all options of an optimizer: its defaults, but for what is chosen."""
    parameters = inspect.signature(optimizer_class(name).__init__).parameters.values()
    return {**{each.name: each.default for each in parameters if each.default is not each.empty}, **chosen}


def parameters(dtype: torch.dtype, sizes: tuple[tuple[int, ...], ...] = SIZES) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    values = [torch.randn(size, generator=generator) for size in sizes]
    values[0][:] = 0  # a norm of zero
    return [nn.Parameter(value.to("cuda", dtype)) for value in values]


def set_gradients(params: list[nn.Parameter], seed: int, scale: float = 1.0) -> list[Tensor]:
    """Sets random gradients, and returns them in float64."""
    generator = torch.Generator().manual_seed(seed)
    for param in params:
        param.grad = (scale * torch.randn(param.shape, generator=generator)).to(param.device, param.dtype)
    return [param.grad.cpu().double() for param in params if param.grad is not None]


def doubles(params: list[nn.Parameter]) -> list[Tensor]:
    return [param.detach().cpu().double() for param in params]


def follow(name: str, dtype: torch.dtype, steps: int = 4, **chosen: Any) -> tuple[Any, Formula]:
    """Runs an optimizer and its formula side by side, and checks that they agree after every step."""
    params = parameters(dtype)
    optimizer = optimizer_class(name)(params, **chosen)
    formula = FORMULAS[name](options_of(name, **chosen), doubles(params))
    for step in range(steps):
        formula.step(set_gradients(params, step, scale=0.3))
        optimizer.step()
        for param, expected in zip(params, formula.params, strict=True):
            close(param, expected, dtype)
            if dtype != torch.float32:  # the rounding of one step is not to add up
                expected.copy_(param.detach().cpu())
    return optimizer, formula


def close(actual: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    tolerance = {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}[dtype]
    assert_close(actual.detach().cpu().double(), expected, rtol=tolerance, atol=tolerance / 10)


def grid(**choices: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def test_adam() -> None:
    for chosen in grid(
        adam_w_mode=(True, False), bias_correction=(True, False), weight_decay=(0.0, 0.1), lr=(1e-3, 0.1)
    ):
        follow("FusedAdam", torch.float32, **chosen)
    for dtype in (torch.float16, torch.bfloat16):
        optimizer, _ = follow("FusedAdam", dtype, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1, lr=0.01)
        assert all(value["exp_avg"].dtype == torch.float32 for value in optimizer.state.values())


def test_lamb() -> None:
    for chosen in grid(
        adam_w_mode=(True, False), grad_averaging=(True, False), weight_decay=(0.0, 0.1), use_nvlamb=(1, 0)
    ):
        follow("FusedLAMB", torch.float32, lr=0.02, **chosen)
    follow("FusedLAMB", torch.float32, max_grad_norm=1e6, bias_correction=False)
    follow("FusedLAMB", torch.float16, lr=0.02, betas=(0.8, 0.9), max_grad_norm=1e6)


def test_lamb_in_mixed_precision() -> None:
    for chosen in grid(adam_w_mode=(True, False), weight_decay=(0.0, 0.1)):
        follow("FusedMixedPrecisionLamb", torch.float32, lr=0.02, **chosen)
    for dtype in (torch.float16, torch.bfloat16):
        optimizer, formula = with_masters("FusedMixedPrecisionLamb", dtype, reduced_precision_dtype=dtype)
        assert optimizer.param_groups[0]["step"].tolist() == [4]
        masters = optimizer.param_groups_full_precision[0]["params"]
        for master, expected in zip(masters, formula.params, strict=True):
            close(master, expected, torch.float32)


def with_masters(name: str, dtype: torch.dtype, **chosen: Any) -> tuple[Any, Formula]:
    """Runs an optimizer with float32 masters beside its formula, whose rounding does not add up then."""
    params = parameters(dtype)
    optimizer = optimizer_class(name)(params, **chosen)
    formula = FORMULAS[name](options_of(name, **chosen), doubles(params))
    for step in range(4):
        formula.step(set_gradients(params, step))
        optimizer.step()
        for param, expected in zip(params, formula.params, strict=True):
            assert_close(param.detach().cpu(), expected.to(dtype))
    return optimizer, formula


def test_adam_with_tensors_for_what_changes() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        optimizer, _ = follow("FusedAdam", dtype, capturable=True, weight_decay=0.1, lr=0.01)
        group = optimizer.param_groups[0]
        assert group["lr"].is_cuda
        assert (group["step"].dtype, group["step"].tolist()) == (torch.int32, [4])
    optimizer, formula = with_masters("FusedAdam", torch.float16, capturable=True, master_weights=True)
    for master, expected in zip(optimizer.param_groups_master[0]["params"], formula.params, strict=True):
        close(master, expected, torch.float32)


@pytest.mark.parametrize("name", ["FusedAdam", "FusedMixedPrecisionLamb"])
def test_a_scaler_of_gradients_unscales_them_and_skips_steps(name: str) -> None:
    params = parameters(torch.float32)
    chosen = {"capturable": True} if name == "FusedAdam" else {}
    optimizer = optimizer_class(name)(params, **chosen)
    formula = FORMULAS[name](options_of(name, **chosen), doubles(params))
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    scaler.scale(torch.ones((), device="cuda"))
    for step in range(3):
        grads = set_gradients(params, step, scale=8.0)
        if step == 1:
            params[2].grad.view(-1)[5] = float("inf")
        else:
            formula.step([grad / 8 for grad in grads])
        with pytest.warns(FutureWarning, match="GradScaler"):
            scaler.step(optimizer)
        scaler.update(8.0)
    for param, expected in zip(params, formula.params, strict=True):
        close(param, expected, torch.float32)
    assert optimizer.param_groups[0]["step"].tolist() == [2]


def test_sgd() -> None:
    for chosen in grid(momentum=(0.0, 0.9), weight_decay=(0.0, 0.1), wd_after_momentum=(True, False)):
        follow("FusedSGD", torch.float32, lr=0.1, **chosen)
    follow("FusedSGD", torch.float32, lr=0.1, momentum=0.9, dampening=0.3)
    follow("FusedSGD", torch.float32, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)
    follow("FusedSGD", torch.float16, lr=0.1, momentum=0.9, weight_decay=0.1)


def test_adagrad() -> None:
    for chosen in grid(adagrad_w_mode=(True, False), weight_decay=(0.0, 0.1), lr=(1e-2, 0.5)):
        follow("FusedAdagrad", torch.float32, **chosen)
    follow("FusedAdagrad", torch.float16, weight_decay=0.1)


def test_novograd() -> None:
    for chosen in grid(
        reg_inside_moment=(True, False), grad_averaging=(True, False), norm_type=(0, 2), init_zero=(1, 0)
    ):
        follow("FusedNovoGrad", torch.float32, lr=0.02, weight_decay=0.1, **chosen)
    follow("FusedNovoGrad", torch.float32, bias_correction=False)
    follow("FusedNovoGrad", torch.float16, lr=0.02)


def written_by_apex(params: list[nn.Parameter], formula: Formula, names: tuple[str, ...]) -> dict[str, Any]:
    """Returns a state dict as apex lays it out: the number of the step in the groups, no tensor."""
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
    optimizer = optimizer_class("FusedAdam")(params, lr=1.0)
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


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_a_state_dict_continues_the_run(name: str) -> None:
    chosen = {"lr": 0.1, "momentum": 0.9} if name == "FusedSGD" else {}
    optimizer, _ = follow(name, torch.float32, steps=2, **chosen)
    copies = [nn.Parameter(param.detach().clone()) for param in optimizer.param_groups[0]["params"]]
    other = optimizer_class(name)(copies, **chosen)
    saved = io.BytesIO()
    torch.save(optimizer.state_dict(), saved)
    saved.seek(0)
    with warnings.catch_warnings():
        # torch copies tensors among the options, and torch_npu's copying warns
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
    chosen = {"lr": 0.1} if name == "FusedSGD" else {}
    optimizer = optimizer_class(name)([{"params": params[1:3]}, {"params": params[3:4], "lr": 0.0}], **chosen)
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
        chosen = {"lr": 0.1} if name == "FusedSGD" else {}
        optimizer = optimizer_class(name)(params, **chosen)
        set_gradients(params, 0)
        optimizer.zero_grad()
        kept = name in ("FusedSGD",)
        assert [param.grad is not None for param in params] == [kept] * len(params), name


@pytest.mark.platforms("cpu")  # the others know contiguous tensors only
def test_layouts() -> None:
    """Gradients may lie in memory as the parameters do not; parameters may not have gaps."""
    for name in FORMULAS:
        chosen = {"lr": 0.1} if name == "FusedSGD" else {}
        params = [nn.Parameter(torch.randn(2, 3, 4, 4, device="cuda").to(memory_format=torch.channels_last))]
        formula = FORMULAS[name](options_of(name, **chosen), doubles(params))
        optimizer = optimizer_class(name)(params, **chosen)
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
            getattr(apex.optimizers, name)(params, amsgrad=True)
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
            optimizer_class(name)([param]).step()
