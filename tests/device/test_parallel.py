"""One process on two devices: torch.nn.parallel gives the same numbers as one device."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import comm
from torch.testing import assert_close

from tests.platforms import ACCELERATORS

pytestmark = pytest.mark.platforms(*ACCELERATORS)

DEVICES = [0, 1]


def values(*sizes: int) -> Tensor:
    return torch.arange(float(torch.Size(sizes).numel())).reshape(sizes)


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


def test_broadcasting() -> None:
    given = values(3, 2).cuda()
    for each in (comm.broadcast(given, DEVICES)[1], *comm.broadcast(given, out=[torch.empty(3, 2).cuda(1)])):
        assert each.get_device() == 1
        assert torch.equal(each.cpu(), given.cpu())


def test_scattering_and_gathering() -> None:
    given = values(5, 2).cuda()
    parts = comm.scatter(given, devices=DEVICES, chunk_sizes=[1, 4])
    assert [(part.get_device(), len(part)) for part in parts] == [(0, 1), (1, 4)]
    assert torch.equal(comm.gather(parts, destination=1).cpu(), given.cpu())
    assert torch.equal(comm.gather(parts, out=torch.empty_like(given)), given)


def test_adding_up() -> None:
    given = [values(4).cuda(index) for index in DEVICES]
    total = comm.reduce_add(given, destination=1)
    assert total.get_device() == 1
    assert total.tolist() == [0, 2, 4, 6]
    (coalesced,) = comm.reduce_add_coalesced([[each] for each in given], destination=0)
    assert coalesced.get_device() == 0
    assert coalesced.tolist() == [0, 2, 4, 6]
