"""What is sent between devices stays where it is."""

from __future__ import annotations

import pytest
import torch
import torch.cuda.comm
import torch.cuda.nccl

pytestmark = pytest.mark.platforms("cpu")


def test_a_tensor_is_scattered_and_gathered() -> None:
    tensor = torch.arange(6, device="cuda")
    halves = torch.cuda.comm.scatter(tensor, [0, 0])
    assert [half.tolist() for half in halves] == [[0, 1, 2], [3, 4, 5]]
    assert torch.equal(torch.cuda.comm.gather(halves, destination=0), tensor)
    parts = torch.cuda.comm.scatter(tensor, [0, 0], chunk_sizes=[2, 4])
    assert [len(part) for part in parts] == [2, 4]
    out = [torch.empty(2, dtype=torch.int64), torch.empty(4, dtype=torch.int64)]
    assert torch.equal(torch.cat(torch.cuda.comm.scatter(tensor, out=out)), tensor)


def test_a_broadcast_copies_for_further_places() -> None:
    tensor = torch.ones(2, device="cuda")
    first, second = torch.cuda.comm.broadcast(tensor, [0, 0])
    assert first is tensor
    second.zero_()
    assert tensor.tolist() == [1, 1]
    assert torch.cuda.comm.broadcast(tensor, out=[torch.empty(2)])[0].tolist() == [1, 1]
    assert [len(each) for each in torch.cuda.comm.broadcast_coalesced([tensor, tensor], [0])] == [2]
    with pytest.raises(RuntimeError, match="Exactly one of 'devices' and 'out'"):
        torch.cuda.comm.broadcast(tensor)


def test_sums_are_of_equal_shapes() -> None:
    ones, twos = torch.ones(2, device="cuda"), torch.full((2,), 2.0, device="cuda")
    assert torch.cuda.comm.reduce_add([ones, twos]).tolist() == [3, 3]
    assert torch.cuda.comm.reduce_add_coalesced([[ones, twos], [twos, ones]])[1].tolist() == [3, 3]
    with pytest.raises(ValueError, match="input 1 has invalid size: got 3, but expected 2"):
        torch.cuda.comm.reduce_add([ones, torch.ones(3, device="cuda")])


def test_collectives_of_one_device_copy() -> None:
    tensor, out = torch.arange(4.0, device="cuda"), torch.empty(4, device="cuda")
    assert torch.cuda.nccl.is_available([tensor])
    torch.cuda.nccl.all_reduce([tensor], [out])
    assert torch.equal(tensor, out)
    assert torch.cuda.nccl.version() >= (2, 10)
