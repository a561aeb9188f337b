"""The optimizers of apex's first years against float64, alone and in the wrapper with master weights."""

from __future__ import annotations

import contextlib
import io
import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.apex import optimizer_formulas as formulas

SIZES = ((7,), (3, 5), (2, 3, 4, 4))
ADAM: dict[str, Any] = {
    "lr": 0.01,
    "bias_correction": True,
    "betas": (0.8, 0.9),
    "eps": 1e-3,
    "eps_inside_sqrt": False,
    "weight_decay": 0.1,
    "max_grad_norm": 0.0,
}
SGD: dict[str, Any] = {
    "lr": 0.1,
    "momentum": 0.9,
    "dampening": 0.1,
    "weight_decay": 0.1,
    "nesterov": False,
    "wd_after_momentum": False,
}


def parameters(dtype: torch.dtype) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(size, generator=generator).to("cuda", dtype)) for size in SIZES]


def set_gradients(params: list[nn.Parameter], seed: int, scale: float = 1.0) -> list[Tensor]:
    """Sets scaled gradients, and returns them unscaled in float64."""
    generator = torch.Generator().manual_seed(seed)
    for param in params:
        param.grad = scale * torch.randn(param.shape, generator=generator).to("cuda", param.dtype)
    return [param.grad.cpu().double() / scale for param in params if param.grad is not None]


def doubles(tensors: list[Any]) -> list[Tensor]:
    return [tensor.detach().cpu().double() for tensor in tensors]


def reread(values: Any) -> Any:
    """Saves values with `torch.save`, and returns them as loaded by `torch.load`."""
    file = io.BytesIO()
    torch.save(values, file)
    file.seek(0)
    return torch.load(file)


def test_adam_and_lamb_alone() -> None:
    from apex.contrib.optimizers import FusedAdam, FusedLAMB

    runs: list[tuple[Any, type[formulas.Formula], dict[str, Any]]] = [
        (FusedAdam, formulas.ContribAdam, {**ADAM, "eps_inside_sqrt": inside, "bias_correction": correction})
        for inside, correction in itertools.product((False, True), repeat=2)
    ]
    lamb = {"max_grad_norm": 1.0, "adam_w_mode": True, "grad_averaging": True, "use_nvlamb": False}
    runs.append((FusedLAMB, formulas.Lamb, {**ADAM, **lamb}))
    for optimizer_class, formula_class, options in runs:
        params = parameters(torch.float32)
        formula = formula_class(options, doubles(params))
        taken = {name: value for name, value in options.items() if name != "use_nvlamb"}
        if optimizer_class is FusedLAMB:
            del taken["eps_inside_sqrt"]
        optimizer = optimizer_class(params, **taken)
        for step in range(3):
            formula.step(set_gradients(params, step))
            optimizer.step()
        assert_close(doubles(params), formula.params, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["FusedAdam", "FusedSGD"])
def test_masters_of_a_float16_model(name: str) -> None:
    from apex.contrib.optimizers import FP16_Optimizer, FusedAdam
    from apex.contrib.optimizers.fused_sgd import FusedSGD

    options = {**ADAM, "max_grad_norm": 2.0} if name == "FusedAdam" else SGD
    inner = {"FusedAdam": FusedAdam, "FusedSGD": FusedSGD}[name]
    model = parameters(torch.float16)
    formula = (formulas.ContribAdam if inner is FusedAdam else formulas.SGD)(options, doubles(model))
    optimizer = FP16_Optimizer(inner(model, **options), static_loss_scale=128.0)
    assert [master.dtype for master in optimizer.param_groups[0]["params"]] == [torch.float32] * len(SIZES)
    saved: Any = None
    for step in range(4):
        formula.step(set_gradients(model, step, scale=128.0))
        optimizer.step()
        assert_close(doubles(optimizer.fp32_groups[0]), formula.params, rtol=2e-5, atol=2e-6)
        assert_close(doubles(model), formula.params, rtol=1e-3, atol=1e-3)
        if step == 1:
            saved = reread((optimizer.state_dict(), model))
    ended = doubles(optimizer.fp32_groups[0])
    again = FP16_Optimizer(inner(saved[1], **options))
    again.load_state_dict(saved[0])
    for step in (2, 3):
        set_gradients(again.fp16_groups[0], step, scale=128.0)
        again.step()
    assert_close(doubles(again.fp32_groups[0]), ended)


def test_the_scale_follows_overflows() -> None:
    from apex.contrib.optimizers import FP16_Optimizer, FusedAdam

    model = nn.Linear(3, 2).cuda().half()
    before = reread(model.state_dict())
    optimizer = FP16_Optimizer(FusedAdam(model.parameters(), lr=0.1), dynamic_loss_scale=True)
    optimizer.backward(1e4 * model(torch.ones(4, 3, device="cuda").half()).sum())
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        optimizer.step()
    assert optimizer.cur_scale == 2**15
    assert "Grad overflow on iteration 0" in printed.getvalue()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    optimizer.zero_grad()
    assert model.weight.grad is None
    optimizer.backward(1e-3 * model(torch.ones(4, 3, device="cuda").half()).sum())
    optimizer.step()
    assert_close(model.weight, before["weight"] - 0.1, rtol=1e-2, atol=1e-3)


def test_refusals() -> None:
    from apex.contrib.optimizers import FP16_Optimizer, FusedAdam, FusedLAMB
    from apex.contrib.optimizers.fused_sgd import FusedSGD

    for optimizer_class in (FusedAdam, FusedLAMB):
        with pytest.raises(RuntimeError, match="does not support the AMSGrad variant"):
            optimizer_class(parameters(torch.float32), amsgrad=True)
    params = parameters(torch.float16)
    set_gradients(params, 0)
    with pytest.raises(RuntimeError, match="expected parameter to be of float type"):
        FusedAdam(params).step()
    with pytest.raises(RuntimeError, match="must be wrapped with apex.contrib.optimizers.FP16_Optimizer"):
        FusedSGD(params, lr=0.1).step()
    with pytest.raises(ValueError, match="Invalid momentum value: -1"):
        FusedSGD(params, lr=0.1, momentum=-1)
    with pytest.raises(SystemError, match="Do not support dynamic loss scale args"):
        FP16_Optimizer(FusedAdam(params), dynamic_loss_scale=True, dynamic_loss_args={})
