"""`torch.device` objects: the class is unchanged, and "cuda" is the target device."""

import copy
import functools
import pickle

import pytest
import torch

pytestmark = [
    pytest.mark.platforms("simulated-npu", "npu", "simulated-xpu"),
    pytest.mark.usefixtures("engaged"),
]

SPELLINGS = ['"cuda"', '"cuda:0"', '"cuda", 0', '"cuda", index=0', 'type="cuda", index=0', "0"]


@pytest.mark.parametrize("arguments", SPELLINGS)
def test_every_spelling_is_the_targets(arguments: str, device_type: str) -> None:
    device = eval(f"torch.device({arguments})")
    assert type(device) is torch.device
    assert device.type == device_type
    assert str(device).startswith(device_type)


def test_equal_to_a_tensors_device() -> None:
    there = torch.ones(1, device="cuda")
    assert there.device == torch.device("cuda:0")
    assert {torch.device("cuda:0"): 1}[there.device] == 1
    assert torch.device("cuda:0").index == 0
    assert torch.device("cuda") != torch.device("meta")


def test_the_class_stays_a_class() -> None:
    @functools.singledispatch
    def kind(value: object) -> str:
        return "object"

    kind.register(torch.device)(lambda value: "device")
    assert kind(torch.device("cuda")) == "device"
    assert isinstance(torch.device("cuda"), torch.device | None)
    assert torch.device(torch.device("cuda:0")) == torch.device("cuda:0")


def test_copies_and_pickles_come_back() -> None:
    device = torch.device("cuda:0")
    assert copy.copy(device) == copy.deepcopy(device) == pickle.loads(pickle.dumps(device)) == device


@pytest.mark.platforms("npu")
def test_a_pickle_loads_on_a_cuda_machine() -> None:
    assert torch.device("cuda:1").__reduce__() == (torch.device, ("cuda", 1))
    assert torch.ones(1).cuda().device.__reduce__() == (torch.device, ("cuda", 0))
    assert torch.device("cpu").__reduce__() == (torch.device, ("cpu",))


def test_as_context_and_default(device_type: str) -> None:
    with torch.device("cuda"):
        assert torch.ones(2).device.type == torch.nn.Linear(2, 2).weight.device.type == device_type
    with torch.device("meta"):
        assert torch.ones(2).device.type == "meta"
    torch.set_default_device("cuda")
    try:
        assert torch.tensor([1.0]).device.type == device_type
    finally:
        torch.set_default_device(None)


def test_a_mode_never_sees_a_cuda_device(device_type: str) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Devices(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.append((kwargs or {}).get("device"))
            return func(*args, **(kwargs or {}))

    host = torch.ones(2)
    with Devices():
        host.to("cuda")
        torch.empty(2, device="cuda")
    assert [device.type for device in seen] == [device_type] * 2


def test_a_device_made_in_cpp_is_translated_whatever_asks_first(device_type: str) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Keep(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            kept.append((kwargs or {})["device"])
            return func(*args, **(kwargs or {}))

    questions = [
        repr,
        str,
        hash,
        lambda d: d.type,
        lambda d: d.index,
        lambda d: d == torch.device("cuda"),
        pickle.dumps,
    ]
    for question in questions:
        kept: list[torch.device] = []
        with Keep():
            torch.empty(2, device="cuda")
        question(kept[0])
        assert kept[0].type == device_type
