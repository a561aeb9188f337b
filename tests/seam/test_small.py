"""The Python seam, which is used where there is no compiler."""

from __future__ import annotations

import pytest
import torch

from morph.device.seam.small import PythonSeam

pytestmark = [
    pytest.mark.platforms("simulated-npu", "npu", "simulated-xpu"),
    pytest.mark.usefixtures("vendor_worker"),
]

SERVED = [
    "host.cuda()",
    "host.cuda(0)",
    'host.to("cuda")',
    'host.to(device=torch.device("cuda:0"), dtype=torch.float64)',
    'host.new_zeros(2, device="cuda")',
    'torch.zeros(2, device="cuda")',
    'torch.tensor([1.0], device="cuda")',
    'torch.as_tensor([1.0], device="cuda")',
    'torch.randn(2, device="cuda")',
    'torch.tril_indices(3, 3, device="cuda")',
    'torch.nn.Linear(2, 2).cuda().weight',
    'torch.nn.Linear(2, 2).to("cuda").weight',
]  # fmt: skip


def changed() -> list[object]:
    attributes = [vars(torch.Tensor).get("cuda"), vars(torch.Tensor).get("is_cuda"), torch.cuda._lazy_init]
    return [attributes, *map(torch._C._dispatch_dump, torch._C._dispatch_get_all_op_names())]


@pytest.mark.parametrize("expression", SERVED)
def test_served(expression: str, device_type: str) -> None:
    seam = PythonSeam()
    seam.engage(device_type)
    try:
        made = eval(expression, {"torch": torch, "host": torch.ones(2)})
        assert made.device.type == device_type
        assert made.is_cuda
    finally:
        seam.disengage()


def test_a_kernel_written_in_python_is_left_alone(device_type: str) -> None:
    seam, library = PythonSeam(), torch.library.Library("seam_small", "FRAGMENT")
    library.define("place(Tensor tensor, Device device) -> Tensor")
    library.impl("place", lambda tensor, device: tensor.to(device), "CUDA")
    kernels = torch._C._dispatch_dump("seam_small::place")
    seam.engage(device_type)
    try:
        assert torch._C._dispatch_dump("seam_small::place") == kernels
    finally:
        seam.disengage()
        library._destroy()


def test_the_host_tensor_is_left_alone(device_type: str) -> None:
    seam = PythonSeam()
    seam.engage(device_type)
    try:
        host = torch.zeros(2, requires_grad=True)
        moved = host.cuda() + host.to("cuda")
        moved.sum().backward()
        moved.detach().add_(1)
        assert host.tolist() == [0, 0]
        assert host.grad is not None
        assert host.grad.device.type == "cpu"
    finally:
        seam.disengage()


def test_an_index_that_no_device_has(device_type: str) -> None:
    seam = PythonSeam()
    seam.engage(device_type)
    try:
        with pytest.raises(RuntimeError, match="^cuda:7: the device does not exist, there (is 1|are 2)"):
            torch.ones(2, device="cuda:7")
    finally:
        seam.disengage()


def test_disengage_puts_everything_back(device_type: str) -> None:
    before = changed()
    seam = PythonSeam()
    for _ in range(3):
        seam.engage(device_type)
        seam.engage(device_type)
        assert changed() != before
        seam.disengage()
        seam.disengage()
    assert changed() == before


def test_counts(device_type: str) -> None:
    seam = PythonSeam()
    seam.engage(device_type)
    try:
        torch.zeros(2, device="cuda")
        assert seam.caught() == {"aten::empty.memory_format": 1}
    finally:
        seam.disengage()
