"""Automatic mixed precision, checked by the dtype of the result."""

import warnings
from typing import Any

import pytest
import torch
from torch.amp import autocast as early_bound


class Subclass(torch.autocast):
    def __init__(self) -> None:
        super().__init__("cuda")


def product() -> torch.dtype:
    matrix = torch.ones(4, 4, device="cuda")
    return (matrix @ matrix).dtype


def under(context: Any) -> torch.dtype:
    with context:
        return product()


def test_every_spelling_casts() -> None:
    for make in (torch.autocast, torch.amp.autocast, early_bound):
        assert under(make("cuda")) is torch.float16
        assert under(make(device_type="cuda", dtype=torch.bfloat16)) is torch.bfloat16
        assert under(make("cuda", enabled=False)) is torch.float32
        assert under(make("cuda:0")) is torch.float16
    assert under(Subclass()) is torch.float16
    assert torch.autocast("cuda")(product)() is torch.float16
    assert product() is torch.float32


def test_a_wrong_device_type_is_still_refused() -> None:
    for wrong in ("gpu", "cuda:x", "mycuda"):
        with pytest.raises(RuntimeError):
            torch.autocast(wrong)


def test_the_state_is_the_devices() -> None:
    assert not torch.is_autocast_enabled("cuda")
    assert torch.get_autocast_dtype("cuda") is torch.float16
    assert torch.amp.is_autocast_available("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("cuda")
        assert torch.is_autocast_enabled()
        assert torch.get_autocast_dtype("cuda") is torch.bfloat16
    assert not torch.is_autocast_enabled()


def test_the_state_is_set_by_every_form() -> None:
    for form in (("cuda", True), (True,)):
        torch.set_autocast_enabled(*form)
        try:
            assert product() is torch.float16
        finally:
            torch.set_autocast_enabled("cuda", False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.set_autocast_gpu_dtype(torch.bfloat16)
        assert torch.get_autocast_gpu_dtype() is torch.get_autocast_dtype("cuda") is torch.bfloat16
    torch.set_autocast_dtype("cuda", torch.float16)


def train_once(scaler: torch.amp.GradScaler, value: float) -> tuple[torch.Tensor, torch.Tensor]:
    model = torch.nn.Linear(2, 1).cuda()
    before = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler.scale(model(torch.full((2, 2), value, device="cuda")).sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return before, model.weight.detach()


def test_the_scaler_scales_and_skips() -> None:
    for scaler in (torch.amp.GradScaler("cuda"), torch.amp.GradScaler(), torch.GradScaler(device="cuda")):
        assert scaler.is_enabled()
        before, after = train_once(scaler, 1.0)
        torch.testing.assert_close(after, before - 0.2)
        before, after = train_once(scaler, float("inf"))
        assert torch.equal(after, before)
        assert scaler.get_scale() == 2.0**15


def test_a_scaled_step_is_the_step() -> None:
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 1).cuda() for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    scaler, x = torch.amp.GradScaler("cuda", init_scale=1024.0), torch.rand(4, 3, device="cuda")
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in models]
    scaler.scale(models[0](x).sum()).backward()
    scaler.unscale_(optimizers[0])
    torch.nn.utils.clip_grad_norm_(models[0].parameters(), 1.0)
    scaler.step(optimizers[0])
    scaler.update()
    models[1](x).sum().backward()
    torch.nn.utils.clip_grad_norm_(models[1].parameters(), 1.0)
    optimizers[1].step()
    assert torch.allclose(models[0].weight, models[1].weight)


def test_a_state_saved_on_cuda_is_taken() -> None:
    state = {"scale": 4096.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 100}
    scaler = torch.amp.GradScaler("cuda")
    scaler.load_state_dict({**state, "_growth_tracker": 7})
    assert scaler.state_dict() == {**state, "_growth_tracker": 7}


@pytest.mark.platforms("cpu")
def test_nothing_is_said_to_be_disabled() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert torch.cuda.amp.GradScaler().is_enabled()
    assert [str(warning.message)[:31] for warning in caught] == ["`torch.cuda.amp.GradScaler(args"]


def test_traced_code_reads_the_state() -> None:
    def body(matrix: torch.Tensor) -> torch.Tensor:
        return matrix + 1 if torch.is_autocast_enabled("cuda") else matrix - 1

    compiled = torch.compile(body, backend="eager", fullgraph=True)
    with torch.autocast("cuda"):
        assert compiled(torch.ones(1, device="cuda")).item() == 2
    assert compiled(torch.ones(1, device="cuda")).item() == 0


def test_scripted_code_still_compiles() -> None:
    def body(matrix: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda"):
            return matrix + 1

    warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit is deprecated
    assert torch.jit.script(body)(torch.ones(1, device="cuda")).item() == 2
