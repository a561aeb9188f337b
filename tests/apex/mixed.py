"""A small network, and its mixed-precision training written by hand."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.later import Later

amp = Later("apex.amp")


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.norm = nn.BatchNorm1d(16)
        self.last = nn.Linear(16, 3)

    def forward(self, input: Tensor) -> Tensor:
        return self.last(F.relu(self.norm(self.first(input))))


def network() -> Network:
    torch.manual_seed(0)
    return Network().cuda()


def batches(count: int = 4) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(12, 6, generator=generator) for _ in range(count)]
    return [(each.cuda(), each.argmax(1).remainder(3).cuda()) for each in inputs]


def sgd(params: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=1e-3)


def halved(model: nn.Module, but_batchnorm: bool) -> nn.Module:
    model.half()
    for module in model.modules():
        if but_batchnorm and isinstance(module, nn.BatchNorm1d):
            module.float()
    return model


def by_hand(level: str, scale: float = 1.0) -> nn.Module:
    """Trains the network in plain PyTorch as an opt level prescribes."""
    model = network()
    if level in ("O2", "O3"):
        halved(model, but_batchnorm=level == "O2")
    params = list(model.parameters())
    masters = [param.detach().float().clone() for param in params] if level == "O2" else params
    optimizer = sgd(masters)
    for input, target in batches():
        for param in params:
            param.grad = None
        with torch.autocast("cuda", dtype=torch.float16, enabled=level == "O1"):
            output = model(input.half() if level in ("O2", "O3") else input)
            loss = F.cross_entropy(output.float(), target)
        (loss * scale).backward()
        for param, master in zip(params, masters, strict=True):
            grad = param.grad
            master.grad = None
            master.grad = grad.to(master.dtype) / scale
        optimizer.step()
        for param, master in zip(params, masters, strict=True):
            param.data.copy_(master.data)
    return model


def backward(loss: Tensor, optimizer: Any, **options: Any) -> None:
    """Differentiates a loss that amp scales."""
    with amp.scale_loss(loss, optimizer, **options) as scaled_loss:
        scaled_loss.backward()


def by_amp(model: Any, optimizer: Any) -> None:
    """Trains a model and optimizer that `initialize` returned."""
    for input, target in batches():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(input), target)
        backward(loss, optimizer)
        optimizer.step()


@contextlib.contextmanager
def amp_undone() -> Iterator[None]:
    """Restores on exit the process state that `initialize` changes."""
    state = amp._amp_state
    before = copy.copy(vars(state))
    try:
        yield
    finally:
        if hasattr(state, "handle"):
            state.handle._deactivate()
        vars(state).clear()
        vars(state).update(before)


@contextlib.contextmanager
def initialized(*args: Any, **kwargs: Any) -> Iterator[Any]:
    """Yields the result of `initialize`, and undoes its changes on exit."""
    with amp_undone():
        yield amp.initialize(*args, **{"verbosity": 0, **kwargs})


def linear(value: float = 0.5) -> nn.Linear:
    module = nn.Linear(4, 2, bias=False).cuda()
    nn.init.constant_(module.weight, value)
    return module


def optimizer_of(model: nn.Module, lr: float = 1.0) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), lr=lr)
