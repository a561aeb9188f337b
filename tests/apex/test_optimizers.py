"""The fused optimizers against their float64 formulas."""

import pytest
import torch

from tests.apex.optimizer_runs import (
    FORMULAS,
    close,
    follow,
    grid,
    made,
    options_of,
    parameters,
    set_gradients,
)
from tests.apex.precision import doubles


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
        optimizer, formula = follow(
            "FusedMixedPrecisionLamb", dtype, masters=True, reduced_precision_dtype=dtype
        )
        assert optimizer.param_groups[0]["step"].tolist() == [4]
        masters = optimizer.param_groups_full_precision[0]["params"]
        for master, expected in zip(masters, formula.params, strict=True):
            close(master, expected, torch.float32)


def test_adam_with_tensors_for_what_changes() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        optimizer, _ = follow("FusedAdam", dtype, capturable=True, weight_decay=0.1, lr=0.01)
        group = optimizer.param_groups[0]
        assert group["lr"].is_cuda
        assert (group["step"].dtype, group["step"].tolist()) == (torch.int32, [4])
    optimizer, formula = follow(
        "FusedAdam", torch.float16, masters=True, capturable=True, master_weights=True
    )
    for master, expected in zip(optimizer.param_groups_master[0]["params"], formula.params, strict=True):
        close(master, expected, torch.float32)


@pytest.mark.parametrize("name", ["FusedAdam", "FusedMixedPrecisionLamb"])
def test_a_scaler_of_gradients_unscales_them_and_skips_steps(name: str) -> None:
    params = parameters(torch.float32)
    chosen = {"capturable": True} if name == "FusedAdam" else {}
    optimizer = made(name, params, **chosen)
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
