"""Networks train on the device as they do on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from tests.software import own

pytestmark = pytest.mark.usefixtures("vendor_worker")


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU] | type[nn.RNN]) -> None:
        super().__init__()
        self.inner = kind(5, 8, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.head(self.inner(x)[0][:, -1])
        return output


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2)), (8, 5)),
    "convolution": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2)
        ),
        (8, 1, 6, 6),
    ),
    "transformer": (
        lambda: nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), nn.Linear(8, 2)),
        (4, 6, 8),
    ),
    "lstm": (lambda: Recurrent(nn.LSTM), (4, 6, 5)),
    "gru": (lambda: Recurrent(nn.GRU), (4, 6, 5)),
    "rnn": (lambda: Recurrent(nn.RNN), (4, 6, 5)),
}
OPTIMIZERS: dict[str, Callable[[nn.Module], torch.optim.Optimizer]] = {
    "sgd": lambda model: torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
    "adam": lambda model: torch.optim.Adam(model.parameters(), 0.01),
    "adamw foreach": lambda model: torch.optim.AdamW(model.parameters(), 0.01, foreach=True),
    "adam fused": lambda model: torch.optim.Adam(model.parameters(), 0.01, fused=True),
}


def _losses(name: str, data: Tensor, optimizer: str, device: str) -> list[float]:
    torch.manual_seed(0)
    model, data = MODELS[name][0]().to(device), data.to(device)
    stepper, losses = OPTIMIZERS[optimizer](model), []
    for _ in range(4):
        stepper.zero_grad()
        loss = model(data).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        stepper.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(
    ("model", "optimizer"), [*((name, "sgd") for name in MODELS), *(("mlp", name) for name in OPTIMIZERS)]
)
def test_losses_are_the_cpus(model: str, optimizer: str) -> None:
    data = torch.randn(MODELS[model][1], generator=torch.Generator().manual_seed(1))
    expected = _losses(model, data, optimizer, "cpu")
    assert _losses(model, data, optimizer, own.device()) == pytest.approx(expected, rel=1e-4)
    assert expected[-1] < expected[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_chooses_dtypes_by_operator(dtype: torch.dtype) -> None:
    x = torch.randn(4, 4, device=own.device())
    with torch.autocast(own.device(), dtype=dtype):
        assert (x @ x).dtype is dtype
        assert nn.functional.linear(x, x).dtype is dtype
        assert nn.functional.conv1d(x[None], x[None]).dtype is dtype
        low = x @ x
        assert nn.functional.softmax(low, 1).dtype is torch.float32
        assert low.sum().dtype is torch.float32
        assert nn.functional.mse_loss(low, low).dtype is torch.float32
        assert torch.addcmul(x, low, low).dtype is torch.float32
        assert torch.relu(low).dtype is dtype
        with torch.autocast(own.device(), enabled=False):
            assert (x @ x).dtype is torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            nn.functional.binary_cross_entropy(x.sigmoid(), x.sigmoid())
    assert (x @ x).dtype is torch.float32


@own.as_an_npu
def test_vendors_own_autocast_is_torchs() -> None:
    x = torch.randn(4, 4, device=own.device(), requires_grad=True)
    assert not own.module().is_autocast_enabled()
    with own.module().amp.autocast():
        assert own.module().is_autocast_enabled()
        assert own.module().get_autocast_dtype() is (x @ x).dtype is torch.float16
        loss = (x @ x).float().sum()
    loss.backward()
    assert x.grad is not None
    assert x.grad.dtype is torch.float32


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_code_has_no_graph_break(backend: str) -> None:
    def step(x: Tensor) -> Tensor:
        return (x @ x).relu().sum() + torch.zeros(1, device=own.device()) + own.module().current_device()

    x = torch.randn(3, 3, device=own.device(), requires_grad=True)
    compiled = torch.compile(step, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(x), step(x))
    compiled(x).sum().backward()
    assert x.grad is not None


def test_a_module_that_moves_keeps_its_parameters() -> None:
    model = nn.Linear(2, 2)
    weight = model.weight
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    model.to(own.device())
    assert model.weight is weight
    model(torch.ones(1, 2, device=own.device())).sum().backward()
    before = weight.detach().clone()
    optimizer.step()
    assert torch.equal(weight, before - 1)
    lazy = nn.LazyLinear(2).to(own.device())
    assert lazy(torch.ones(1, 3, device=own.device())).shape == (1, 2)


def test_scripted_and_exported_modules_stay_on_the_device() -> None:
    model, x = nn.Linear(3, 2).to(own.device()), torch.ones(1, 3, device=own.device())
    expected = model(x)
    assert torch.equal(torch.export.export(model, (x,)).module()(x), expected)
    assert expected.device.type == own.device()
