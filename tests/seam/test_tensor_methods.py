"""`Tensor.cuda`, `Tensor.is_cuda` and `Tensor.get_device` through every way they are reached."""

from __future__ import annotations

from typing import Any

import pytest
import torch
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
