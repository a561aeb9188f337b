"""torch_npu's own parts on the soft CANN: devices, memory, and what torch.nn.parallel is built of."""

import sys

import pytest
import torch
from torch import Tensor

pytestmark = pytest.mark.platforms("npu")


def test_torch_loads_the_vendor_by_its_entry_point():
    assert sys.modules["torch_npu"].__version__.startswith("2.13")


def test_properties_are_those_of_a_910b():
    properties = torch.npu.get_device_properties(0)
    assert torch.npu.get_device_name() == properties.name == "Ascend910B1"
    assert properties.total_memory == 64 << 30


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool", "uint8", "complex64"])
def test_values_survive_the_round_trip(dtype):
    values = (torch.randn(33, 7) * 50).to(getattr(torch, dtype))
    assert torch.equal(values.npu().cpu(), values)


MOVED = {
    "all of it": lambda x: x,
    "columns": lambda x: x[:, 1:],
    "every other": lambda x: x[:, ::2],
    "one": lambda x: x[:, 2],
    "one of the last": lambda x: x[..., 3],
    "transposed": lambda x: x.transpose(0, 1),
    "permuted": lambda x: x.permute(2, 0, 1),
    "expanded": lambda x: x[:, :1].expand(4, 6, 5),
    "diagonal": torch.diagonal,
    "part of the transposed": lambda x: x[1:, :, ::2].transpose(0, 2),
    "windows": lambda x: x.unfold(1, 3, 1),
    "strided": lambda x: x.as_strided((3, 3), (1, 7), 2),
    "nothing": lambda x: x[:, 6:],
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
@pytest.mark.parametrize("view", MOVED)
def test_views_move_between_the_devices(view, dtype):
    values = torch.arange(4 * 6 * 5).reshape(4, 6, 5).to(dtype)
    moved = MOVED[view](values.to("npu:0")).to("npu:1")
    assert moved.device == torch.device("npu:1")
    assert torch.equal(moved.cpu(), MOVED[view](values))


def test_memory_beyond_the_whole_device_is_refused_and_then_given_back():
    size = 40 << 30  # never touched, so it costs the host nothing
    held = torch.empty(size, device="npu", dtype=torch.uint8)
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(size, device="npu", dtype=torch.uint8)
    del held
    torch.npu.empty_cache()
    assert torch.empty(size, device="npu", dtype=torch.uint8).nbytes == size
    torch.npu.empty_cache()


def test_sleeping_takes_time():
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.npu._sleep(5_000_000)
    end.record()
    assert start.elapsed_time(end) >= 5


def test_an_operator_that_is_missing_fails_by_name():
    with pytest.raises(RuntimeError, match="aclnnGeluV2"):
        torch.ops.npu.npu_gelu(torch.ones(4).npu())


DEVICES = [0, 1]
torch_npus = pytest.mark.skipif(
    torch.version.cuda is not None, reason="torch has CUDA's functions in this build, which torch_npu leaves"
)


def indices(tensors: list[Tensor]) -> list[int]:
    return [tensor.get_device() for tensor in tensors]


@torch_npus
def test_broadcasting_from_the_second_device_into_given_tensors():
    values = torch.arange(5)
    out = [torch.zeros(5, dtype=torch.int64, device="npu:0")]
    torch._C._broadcast_out(values.to("npu:1"), out)
    assert torch.equal(out[0].cpu(), values)


@torch_npus
@pytest.mark.parametrize("buffer_size", [4, 1 << 20])
def test_broadcasting_many_tensors_of_several_types(buffer_size):
    values = [torch.randn(2, 3), torch.arange(4), torch.randn(7), torch.randn(2).half()]
    copies = torch._C._broadcast_coalesced([value.npu() for value in values], DEVICES, buffer_size)
    for index, tensors in zip(DEVICES, copies, strict=True):
        assert indices(tensors) == [index] * len(values)
        assert all(torch.equal(copy.cpu(), value) for copy, value in zip(tensors, values, strict=True))


@torch_npus
def test_broadcasting_more_than_a_socket_holds():
    values = torch.randn(1 << 21)
    assert torch.equal(torch._C._broadcast(values.npu(), DEVICES)[1].cpu(), values)
