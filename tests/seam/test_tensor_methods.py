"""Tensor methods through every way they are reached, and tracing with "cuda" inside."""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode

pytestmark = [
    pytest.mark.platforms("simulated-npu", "npu", "simulated-xpu"),
    pytest.mark.usefixtures("engaged"),
]

BOUND_EARLY = torch.Tensor.cuda


class Plain(torch.Tensor):
    """A subclass that changes nothing."""


class Recording(torch.Tensor):
    """A subclass whose `__torch_function__` is called before torch's implementation."""

    seen: list[tuple[Any, tuple[Any, ...]]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        cls.seen.append((func, args[1:]))
        return super().__torch_function__(func, types, args, kwargs or {})


def test_no_python_object_is_replaced(device_type: str) -> None:
    assert torch.Tensor.cuda is BOUND_EARLY
    assert type(torch.Tensor.cuda).__name__ == "method_descriptor"
    assert BOUND_EARLY(torch.ones(1)).device.type == device_type


def test_is_cuda() -> None:
    there = torch.ones(2, device="cuda")
    assert there.is_cuda
    assert torch.nn.Parameter(there).is_cuda
    assert there.as_subclass(Plain).is_cuda
    assert not torch.ones(1, device="meta").is_cuda
    assert not torch.ones(1).is_cuda


def test_get_device_is_a_device() -> None:
    there = torch.ones(1, device="cuda")
    assert there.get_device() == 0
    assert torch.ones(1).to(there.get_device()).is_cuda


def test_subclasses_keep_their_type(device_type: str) -> None:
    for moved in [torch.ones(2).as_subclass(Plain).cuda(), torch.ones(2).as_subclass(Plain).cuda(0)]:
        assert type(moved) is Plain
        assert moved.device.type == device_type


@pytest.mark.parametrize("device", [0, "cuda:0", torch.device("cpu")])
def test_a_subclass_is_asked_with_the_arguments_of_the_call(device: object) -> None:
    host = torch.ones(2).as_subclass(Recording)
    Recording.seen.clear()
    if device == torch.device("cpu"):
        device = torch.device("cuda")
    host.cuda(device)  # type: ignore[arg-type]
    assert Recording.seen[0] == (torch.Tensor.cuda, (device,))
    assert host.cuda().is_cuda
    assert Recording.seen[-1][0] == torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]


def test_a_mode_is_asked() -> None:
    seen = []

    class Record(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Record():
        assert torch.ones(2).cuda(0).is_cuda
    assert seen == [torch.ones, torch.Tensor.cuda, torch.Tensor.is_cuda.__get__]  # type: ignore[attr-defined]


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


class Module(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return program(x)


def loaded_trace(x: torch.Tensor) -> torch.Tensor:
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(lambda x: x.cuda() + x.to("cuda"), x), file)
    file.seek(0)
    return torch.jit.load(file)(x)


TRACED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "eager": lambda x: torch.compile(program, backend="eager", fullgraph=True)(x),
    "aot_eager": lambda x: torch.compile(program, backend="aot_eager", fullgraph=True)(x),
    "export": lambda x: torch.export.export(Module(), (x,)).module()(x),
    "symbolic_trace": lambda x: torch.fx.symbolic_trace(lambda x: x.to("cuda") + x.cuda(0))(x),
    "script": lambda x: torch.jit.script(program)(x),
    "a trace from a file": loaded_trace,
}


@pytest.mark.parametrize("how", TRACED)
def test_traced_code(how: str, device_type: str) -> None:
    torch._dynamo.reset()
    with old_ways():
        check(TRACED[how](torch.ones(2)), device_type)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx(mode: str, device_type: str) -> None:
    graph = make_fx(program, tracing_mode=mode)(torch.ones(2))
    assert "cuda" not in graph.code
    check(graph(torch.ones(2)), device_type)


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
