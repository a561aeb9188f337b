"""Tensors sent between the devices of one process: torch.nn.parallel, torch.cuda.comm, torch.cuda.nccl."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.cuda import comm, nccl
from torch.testing import assert_close

from tests.platforms import ACCELERATORS

DEVICES = [0, 1]
on_vendors = pytest.mark.platforms(*ACCELERATORS)
on_cuda = pytest.mark.platforms("cpu")  # whose errors are CUDA's


def values(*sizes: int) -> Tensor:
    return torch.arange(float(torch.Size(sizes).numel())).reshape(sizes)


@on_vendors
@pytest.mark.parametrize("batch", [8, 7, 1])
def test_data_parallel_trains_as_one_device_does(batch: int) -> None:
    single = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).cuda()
    parallel = nn.DataParallel(copy.deepcopy(single), device_ids=DEVICES)
    inputs = torch.randn(batch, 3, device="cuda")
    for module in (single, parallel):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            module(inputs).square().mean().backward()
            optimizer.step()
    assert_close(parallel(inputs), single(inputs))
    for ours, theirs in zip(parallel.parameters(), single.parameters(), strict=True):
        assert_close(ours, theirs)


@on_vendors
def test_broadcasting() -> None:
    given = values(3, 2).cuda()
    for each in (comm.broadcast(given, DEVICES)[1], *comm.broadcast(given, out=[torch.empty(3, 2).cuda(1)])):
        assert each.get_device() == 1
        assert torch.equal(each.cpu(), given.cpu())


@on_vendors
def test_scattering_and_gathering() -> None:
    given = values(5, 2).cuda()
    parts = comm.scatter(given, devices=DEVICES, chunk_sizes=[1, 4])
    assert [(part.get_device(), len(part)) for part in parts] == [(0, 1), (1, 4)]
    assert torch.equal(comm.gather(parts, destination=1).cpu(), given.cpu())
    assert torch.equal(comm.gather(parts, out=torch.empty_like(given)), given)


@on_vendors
def test_adding_up() -> None:
    given = [values(4).cuda(index) for index in DEVICES]
    total = comm.reduce_add(given, destination=1)
    assert total.get_device() == 1
    assert total.tolist() == [0, 2, 4, 6]
    (coalesced,) = comm.reduce_add_coalesced([[each] for each in given], destination=0)
    assert coalesced.get_device() == 0
    assert coalesced.tolist() == [0, 2, 4, 6]


@on_cuda
def test_sums_are_of_equal_shapes() -> None:
    ones, twos = torch.ones(2, device="cuda"), torch.full((2,), 2.0, device="cuda")
    assert comm.reduce_add([ones, twos]).tolist() == [3, 3]
    assert comm.reduce_add_coalesced([[ones, twos], [twos, ones]])[1].tolist() == [3, 3]
    with pytest.raises(ValueError, match="input 1 has invalid size: got 3, but expected 2"):
        comm.reduce_add([ones, torch.ones(3, device="cuda")])


@on_cuda
def test_what_cannot_be_sent_is_refused() -> None:
    host, tensor = torch.ones(4, 2), torch.ones(4, 2, device="cuda")
    refused = {
        "at index 1 has device 'cpu'": lambda: comm.broadcast(tensor, out=[tensor, host]),
        "same shape as the source .* at index 0": lambda: comm.broadcast(tensor, out=[tensor[:2]]),
        "at least one device to scatter to": lambda: comm.scatter(tensor, ()),
        "devices and chunk_sizes to be of same length": lambda: comm.scatter(tensor, [0, 0], [4]),
        "at least one output tensor": lambda: comm.scatter(tensor, out=[]),
        "to be CUDA tensors, but output tensor at index 0": lambda: comm.scatter(tensor, out=[host]),
        "Output tensor at index 0 has incorrect shape": lambda: comm.scatter(tensor, out=[tensor[None]]),
        "along scatter dim 0 does not match": lambda: comm.scatter(tensor, out=[tensor[1:]], dim=-2),
        "at least one tensor to gather": lambda: comm.gather(()),
        "Expected all input tensors to be CUDA tensors": lambda: comm.gather((host, tensor)),
        "the same number of dimensions": lambda: comm.gather((tensor, tensor[None])),
        "Input tensor at index 1 has invalid shape": lambda: comm.gather((tensor, tensor[:, 1:])),
        r"to have shape \[8, 2\]": lambda: comm.gather((tensor, tensor), out=host),
    }
    for words, send in refused.items():
        with pytest.raises(RuntimeError, match=words):
            send()
    with pytest.raises(IndexError):
        comm.scatter(tensor, out=[tensor], dim=2)


def ranked(*values: float) -> list[Tensor]:
    """Returns one tensor per device: the values multiplied by its rank plus one."""
    return [torch.tensor(values, device=f"cuda:{rank}") * (rank + 1) for rank in DEVICES]


def test_tensors_fit_that_are_dense_and_on_devices_of_their_own() -> None:
    tensors = ranked(1.0, 2.0)
    assert nccl.is_available(tensors)
    assert not nccl.is_available([tensors[0], tensors[0]])
    assert not nccl.is_available([torch.ones(2, 2, device="cuda").t()[:1].t()])


def test_all_reduce_writes_to_outputs_and_leaves_inputs() -> None:
    tensors, outputs = ranked(1.0), ranked(0.0)
    nccl.all_reduce(tensors, outputs)
    assert [each.item() for each in outputs] == [3.0, 3.0]
    assert [each.item() for each in tensors] == [1.0, 2.0]
    nccl.all_reduce(set(tensors))
    assert [each.item() for each in tensors] == [3.0, 3.0]


WRONG: dict[str, Callable[[], object]] = {
    "input sequence can't be empty": lambda: nccl.all_reduce([]),
    "inputs must be on unique devices": lambda: nccl.all_reduce([torch.ones(2, device="cuda")] * 2),
    "input and output elements have to be cuda dense Tensors": lambda: nccl.broadcast([torch.ones(2)]),
    "all inputs and outputs must be of the same Tensor dtype": lambda: nccl.all_reduce(
        [torch.ones(2, device="cuda")], [torch.ones(2, device="cuda", dtype=torch.half)]
    ),
    "all inputs must have the same number of elements": lambda: nccl.reduce(
        [*ranked(1.0)[:1], ranked(1.0, 2.0)[1]]
    ),
    "output must be of size input_size": lambda: nccl.all_gather(ranked(1.0), ranked(1.0)),
}


@pytest.mark.parametrize("words", WRONG)
def test_tensors_that_do_not_fit_are_refused(words: str) -> None:
    with pytest.raises(RuntimeError, match=f"^{words}"):
        WRONG[words]()


def test_a_lone_tensor_is_an_error() -> None:
    with pytest.raises(TypeError, match="Inputs should be a collection of tensors"):
        nccl.all_reduce(torch.ones(2, device="cuda"))
