"""One process on two devices: the building blocks of torch.nn.parallel."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

pytestmark = pytest.mark.platforms("npu")

DEVICES = [0, 1]


def indices(tensors: list[Tensor]) -> list[int]:
    return [tensor.get_device() for tensor in tensors]


def test_broadcasting_from_the_second_device_into_given_tensors():
    values = torch.arange(5)
    out = [torch.zeros(5, dtype=torch.int64, device="npu:0")]
    torch._C._broadcast_out(values.to("npu:1"), out)
    assert torch.equal(out[0].cpu(), values)


@pytest.mark.parametrize("buffer_size", [4, 1 << 20])
def test_broadcasting_many_tensors_of_several_types(buffer_size):
    values = [torch.randn(2, 3), torch.arange(4), torch.randn(7), torch.randn(2).half()]
    copies = torch._C._broadcast_coalesced([value.npu() for value in values], DEVICES, buffer_size)
    for index, tensors in zip(DEVICES, copies, strict=True):
        assert indices(tensors) == [index] * len(values)
        assert all(torch.equal(copy.cpu(), value) for copy, value in zip(tensors, values, strict=True))


def test_broadcasting_more_than_a_socket_holds():
    values = torch.randn(1 << 21)
    assert torch.equal(torch._C._broadcast(values.npu(), DEVICES)[1].cpu(), values)


def test_operators_of_a_thread_for_each_device():
    layer = nn.Linear(4, 3)
    replicas = nn.parallel.replicate(layer.npu(), DEVICES)
    inputs = [torch.randn(2, 4).to(f"npu:{index}") for index in DEVICES]
    outputs = nn.parallel.parallel_apply(replicas, inputs)
    for given, output in zip(inputs, outputs, strict=True):
        assert_close(output.cpu(), nn.functional.linear(given.cpu(), layer.weight.cpu(), layer.bias.cpu()))
