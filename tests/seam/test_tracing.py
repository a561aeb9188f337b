"""FakeTensors, Dynamo, export, fx and TorchScript with "cuda" inside."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

pytestmark = [
    pytest.mark.platforms("simulated-npu", "npu", "simulated-xpu"),
    pytest.mark.usefixtures("engaged"),
]


def program(x: torch.Tensor) -> torch.Tensor:
    device = torch.device("cuda")
    return x.to("cuda") + torch.zeros(2, device="cuda") + torch.ones(2, device=device).to(device)


@contextmanager
def old_ways() -> Iterator[None]:
    """Ignores torch's warnings that TorchScript is deprecated; its own inductor uses it too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)  # torch 2.14
        yield


def check(result: torch.Tensor, device_type: str) -> None:
    assert result.device.type == device_type
    assert result.cpu().tolist() == [2, 2]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiles_as_one_graph(backend: str, device_type: str) -> None:
    torch._dynamo.reset()
    check(torch.compile(program, backend=backend, fullgraph=True)(torch.ones(2)), device_type)


def test_exports(device_type: str) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return program(x)

    check(torch.export.export(Module(), (torch.ones(2),)).module()(torch.ones(2)), device_type)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx(mode: str, device_type: str) -> None:
    graph = make_fx(program, tracing_mode=mode)(torch.ones(2))
    assert "cuda" not in graph.code
    check(graph(torch.ones(2)), device_type)


def test_symbolic_trace(device_type: str) -> None:
    check(torch.fx.symbolic_trace(lambda x: x.to("cuda") + x.cuda(0))(torch.ones(2)), device_type)


def test_fake_tensors(device_type: str) -> None:
    with FakeTensorMode():
        host = torch.ones(2)
        for fake in [
            torch.ones(2, device="cuda"),
            host.cuda(),
            host.cuda(0),
            host.to("cuda"),
            host.to(torch.device("cuda")),
            host.new_zeros(2, device="cuda"),
        ]:
            assert fake.device.type == device_type
            assert fake.is_cuda
            assert (fake + torch.ones(2, device="cuda")).device.type == device_type
    real = torch.ones(2, device="cuda")
    assert FakeTensorMode().from_tensor(real).is_cuda


def test_torchscript(device_type: str) -> None:
    with old_ways():
        scripted = torch.jit.script(program)
    check(scripted(torch.ones(2)), device_type)


def test_a_trace_comes_back_from_a_file(device_type: str) -> None:
    file = io.BytesIO()
    with old_ways():
        torch.jit.save(torch.jit.trace(lambda x: x.cuda() + x.to("cuda"), torch.ones(2)), file)
        file.seek(0)
        loaded = torch.jit.load(file)
    check(loaded(torch.ones(2)), device_type)
