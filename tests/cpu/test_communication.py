"""What is sent between devices stays where it is."""

from __future__ import annotations

import pytest
import torch
import torch.cuda.comm
import torch.cuda.nccl

pytestmark = pytest.mark.platforms("cpu")


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
