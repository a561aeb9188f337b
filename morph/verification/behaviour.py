"""Checks beyond single operators: autograd, mixed precision, random numbers, streams, training."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable

import torch
from torch import Tensor, nn

STEPS = 5


def checkpointed_gradients(device: str) -> None:
    """Recomputing a block in the backward gives the gradients of keeping it."""
    from torch.utils.checkpoint import checkpoint

    layer = nn.Linear(6, 6).to(device)
    x = torch.ones(3, 6, device=device, requires_grad=True)
    kept = torch.autograd.grad(layer(x).tanh().sum(), x)
    again = torch.autograd.grad(checkpoint(lambda x: layer(x).tanh(), x, use_reentrant=False).sum(), x)
    torch.testing.assert_close(again, kept)


def second_derivatives(device: str) -> None:
    """The derivative of a derivative is the formula's."""
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second.cpu(), torch.tensor([6.0, 12.0]))


def custom_functions(device: str) -> None:
    """A custom autograd function's backward runs, on the device."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: object, grad: Tensor) -> Tensor:
            assert grad.is_cuda
            return grad * 2

    x = torch.ones(2, device=device, requires_grad=True)
    Double.apply(x).sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def autocast(device: str) -> None:
    """Products are computed in the lower precision, and losses in float32."""
    a = torch.randn(4, 4, device=device)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        product = a @ a
        loss = nn.functional.mse_loss(product.float(), a)
    assert product.dtype is torch.bfloat16, f"a product is {product.dtype}"
    assert loss.dtype is torch.float32


def gradient_scaling(device: str) -> None:
    """A step with an infinite gradient is skipped, and the scale halved."""
    weight = nn.Parameter(torch.ones(2, device=device))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cuda", init_scale=4.0)
    scaler.scale((weight * float("inf")).sum()).backward()  # type: ignore[no-untyped-call]
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1.0, 1.0], "the step was not skipped"
    assert scaler.get_scale() == 2.0, f"the scale is {scaler.get_scale()}"


def same_seed(device: str) -> None:
    """The same seed gives the same numbers, another one others, and a saved state goes on where it was."""
    torch.cuda.manual_seed_all(3)
    first, state = torch.randn(8, device=device), torch.cuda.get_rng_state(device)
    second = torch.randn(8, device=device)
    torch.cuda.manual_seed_all(3)
    assert torch.equal(torch.randn(8, device=device), first), "the same seed gives other numbers"
    torch.cuda.set_rng_state(state, device)
    assert torch.equal(torch.randn(8, device=device), second), "a saved state goes on elsewhere"
    assert not torch.equal(first, second)


def distributions(device: str) -> None:
    """Random numbers have the mean and deviation that they should."""
    normal, uniform = torch.randn(100_000, device=device), torch.rand(100_000, device=device)
    expected = torch.tensor([0.0, 1.0, 0.5])
    figures = torch.stack([normal.mean(), normal.std(), uniform.mean()]).cpu()
    torch.testing.assert_close(figures, expected, rtol=0, atol=0.02)
    assert uniform.min().item() >= 0
    assert uniform.max().item() < 1


def streams(device: str) -> None:
    """Work on another stream is seen after waiting for it."""
    with torch.cuda.device(device):
        stream, x = torch.cuda.Stream(), torch.ones(1000, device=device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            y = x * 3
        torch.cuda.current_stream().wait_stream(stream)
        assert y.sum().item() == 3000.0


def events(device: str) -> None:
    """Events measure time that passes."""
    with torch.cuda.device(device):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        start.record()
        torch.ones(300, 300, device=device) @ torch.ones(300, 300, device=device)
        end.record()
        torch.cuda.synchronize()
    assert end.query()  # type: ignore[no-untyped-call]
    assert start.elapsed_time(end) >= 0


def memory_figures(device: str) -> None:
    """Allocated bytes rise with a tensor and fall again without it."""
    before = torch.cuda.memory_allocated(device)
    x = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    assert torch.cuda.memory_allocated(device) - before >= 1 << 20
    del x
    assert torch.cuda.memory_allocated(device) == before


def pinned_copies(device: str) -> None:
    """A copy from pinned memory arrives."""
    host = torch.arange(1000.0).pin_memory()
    assert host.is_pinned()
    there = host.to(device, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(there.cpu(), host)


def saving(device: str) -> None:
    """A tensor that is saved comes back to the device, or to the CPU where that is asked for."""
    x, buffer = torch.randn(5, device=device), io.BytesIO()
    torch.save({"x": x}, buffer)
    for where, is_there in ((None, True), ("cuda", True), ("cpu", False)):
        buffer.seek(0)
        loaded = torch.load(buffer, map_location=where)["x"]
        assert torch.equal(loaded.cpu(), x.cpu())
        assert loaded.is_cuda or not is_there


def _network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))


def _losses(network: nn.Module, optimizer: torch.optim.Optimizer, device: str) -> list[float]:
    generator, losses = torch.Generator().manual_seed(1), []
    for _ in range(STEPS):
        x = torch.randn(8, 1, 8, 8, generator=generator).to(device)
        y = torch.randint(3, (8,), generator=generator).to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses


def _trains(make: Callable[..., torch.optim.Optimizer]) -> Callable[[str], None]:
    def training(device: str) -> None:
        own = _network()
        other = copy.deepcopy(own).to(device)
        expected = _losses(own, make(own.parameters()), "cpu")
        computed = _losses(other, make(other.parameters()), device)
        torch.testing.assert_close(torch.tensor(computed), torch.tensor(expected), rtol=5e-3, atol=1e-3)

    return training


def _named(*checks: Callable[[str], None]) -> dict[str, Callable[[str], None]]:
    return {each.__name__.replace("_", " "): each for each in checks}


BEHAVIOUR: dict[str, dict[str, Callable[[str], None]]] = {
    "autograd": _named(checkpointed_gradients, custom_functions, second_derivatives),
    "amp": _named(autocast, gradient_scaling),
    "random numbers": _named(distributions, same_seed),
    "streams and memory": _named(events, memory_figures, pinned_copies, saving, streams),
    "training": {
        "adamw": _trains(lambda parameters: torch.optim.AdamW(parameters, lr=0.01)),
        "sgd with momentum": _trains(lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9)),
    },
}
