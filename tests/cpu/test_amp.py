"""Mixed precision on the CPU: bfloat16, and a scaler that scales."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor, nn

pytestmark = pytest.mark.platforms("cpu")


def _product() -> Tensor:
    return torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")


def test_half_precision_is_used_where_it_is_named() -> None:
    with torch.autocast("cuda", dtype=torch.float16):
        assert _product().dtype is torch.float16


def test_casts_of_a_function_of_ones_own_are_made() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
        def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx: torch.autograd.function.FunctionCtx, grad: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return grad @ x.T + x.T @ grad

    x = torch.eye(2, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cuda"):
        squared = Square.apply(x)
    squared.sum().backward()
    assert squared.dtype is torch.float32
    assert x.grad is not None


@pytest.mark.parametrize("spelling", ["torch.cuda.amp.GradScaler()", "torch.amp.GradScaler('cuda')"])
def test_a_step_that_overflows_is_skipped(spelling: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        scaler = eval(spelling)
    model = nn.Linear(2, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    weight = model.weight.detach().clone()
    scaler.scale(model(torch.full((1, 2), float("inf"), device="cuda")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(model.weight, weight)
    assert scaler.get_scale() == 2.0**15


def test_a_scaled_step_is_the_step() -> None:
    torch.manual_seed(0)
    models = [nn.Linear(3, 1).cuda() for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    scaler, x = torch.amp.GradScaler("cuda", init_scale=1024.0), torch.rand(4, 3, device="cuda")
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in models]
    scaler.scale(models[0](x).sum()).backward()
    scaler.unscale_(optimizers[0])
    nn.utils.clip_grad_norm_(models[0].parameters(), 1.0)
    scaler.step(optimizers[0])
    scaler.update()
    models[1](x).sum().backward()
    nn.utils.clip_grad_norm_(models[1].parameters(), 1.0)
    optimizers[1].step()
    assert torch.allclose(models[0].weight, models[1].weight)


def test_a_state_saved_on_cuda_is_taken() -> None:
    state = {"scale": 4096.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 100}
    scaler = torch.amp.GradScaler("cuda")
    scaler.load_state_dict({**state, "_growth_tracker": 7})
    assert scaler.state_dict() == {**state, "_growth_tracker": 7}


def test_nothing_is_said_to_be_disabled() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert torch.cuda.amp.GradScaler().is_enabled()
    assert [str(warning.message)[:31] for warning in caught] == ["`torch.cuda.amp.GradScaler(args"]
